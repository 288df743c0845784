package arguments

import "strings"

const (
	interactive = "interactive sessions are not supported yet"
	memoryFlag  = "--memory SIZE, such as 64g, limits the memory"
	countFlag   = "--count N starts several tasks; with --gang they start and stop together, with RANK and WORLD_SIZE"
	holdVerb    = "`pinion task hold TASK` keeps a task from starting until `pinion task release TASK`"
	stopTimes   = "a task has its time to end from `pinion run --stop-timeout`; --force ends it at once"
)

// otherTools answers flags of Docker, Slurm and Kubernetes that a command has not, by the last word of its name; "" is for every command.
var otherTools = map[string]map[string]string{
	"": {"namespace": "--cluster NAME is a named part of the pool", "partition": "--cluster NAME is a named part of the pool", "no-trunc": "-o wide shows ids and names in full"},
	"run": {
		"i": interactive, "it": interactive, "ti": interactive, "tty": interactive, "interactive": interactive,
		"t":           interactive + "; --time-limit TIME stops a task so long after its start",
		"restart":     "--retries N restarts a task that fails",
		"link":        "tasks reach one another by published ports, or with --network host",
		"gpu":         "did you mean --gpus?",
		"mount":       "use -v HOST:CONTAINER[:ro]",
		"privileged":  "`privileged` is a field of task definitions, `pinion register`; the host has to allow it, `pinion up --allow privileged`",
		"cap-add":     "capabilities are a field of task definitions, `pinion register`; the host has to allow them, `pinion up --allow`",
		"device":      "--gpus N gives a task GPUs; Pinion chooses them",
		"runtime":     "--gpus N is all that a task with GPUs needs",
		"ipc":         "--shm-size SIZE, such as 16g, makes /dev/shm larger",
		"P":           "--publish PORT publishes a port of the container at a free port of its host",
		"publish-all": "--publish PORT publishes a port of the container at a free port of its host",

		"time": "--time-limit TIME, such as 2h, stops a task so long after its start",
		"mem":  memoryFlag, "mem-per-gpu": memoryFlag,
		"J": "--name NAME", "job-name": "--name NAME",
		"dependency": "--after TASK or --after group:NAME starts a task when another has succeeded",
		"n":          countFlag, "N": countFlag, "ntasks": countFlag, "nodes": countFlag,
		"gres":          "--gpus N gives a task GPUs",
		"c":             "--cpus N limits the cores",
		"cpus-per-task": "--cpus N limits the cores",
		"A":             "--team NAME",
		"account":       "--team NAME",
		"exclusive":     "GPUs are always exclusive to a task; one that asks for all GPUs of a host shares them with none",
		"begin":         "a start at a given time is not supported; " + holdVerb,
		"hold":          holdVerb,
		"H":             holdVerb,
	},
	"stop": {"t": stopTimes, "time": stopTimes, "timeout": stopTimes},
	"ps": {
		"f":      "--filter KEY=VALUE",
		"n":      "--since 1d --limit N lists the last N tasks that ended",
		"last":   "--since 1d --limit N lists the last N tasks that ended",
		"l":      "the newest task is the first line",
		"latest": "the newest task is the first line",
	},
}

// otherToolsHint is what to do instead of a flag that a command, such as "pinion task run", has not; empty when nothing is known of it.
func otherToolsHint(command, flag string) string {
	verb := command[strings.LastIndex(command, " ")+1:]
	if verb == "ls" && strings.HasSuffix(command, " task ls") {
		verb = "ps"
	}
	if hint := otherTools[verb][flag]; hint != "" {
		return hint
	}
	return otherTools[""][flag]
}
