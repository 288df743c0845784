package arguments

import "strings"

const (
	attached       = "`pinion shell` always gives the command your terminal"
	beside         = "no input goes to what a container began with: `pinion exec -it TASK -- sh` runs a command beside it that has yours"
	memoryFlag     = "--memory SIZE, such as 64g, limits the memory"
	countFlag      = "--count N starts several tasks; with --gang they start and stop together, with RANK and WORLD_SIZE"
	holdFlag       = "--hold keeps a task from starting until `pinion task release TASK`"
	field          = "a field of task definitions, `pinion register`"
	ownTasks       = "--mine is for the tasks of your key or login"
	placementFlags = "--on-host NAME and --constraint EXPRESSION choose among the hosts, such as --constraint 'ec2InstanceId != gpu-7'"
	output         = "the output of a task is kept on its host: `pinion logs TASK`; PINION_TASK_ID names a file of its own"
	stopTimes      = "a task has its time to end from `pinion run --stop-timeout`; --force ends it at once"

	inspectFormat = "`pinion ps --format TEMPLATE` shows members of tasks, `pinion inspect TASK | jq` of one"
)

// otherTools answers flags of Docker, Slurm and Kubernetes that a command has not, by the last word of its name; "" is for every command.
var otherTools = map[string]map[string]string{
	"":       {"namespace": "--cluster NAME is a named part of the pool", "partition": "--cluster NAME is a named part of the pool", "no-trunc": "-o wide shows ids and names in full"},
	"shell":  {"i": attached, "it": attached, "ti": attached, "t": attached, "tty": attached, "interactive": attached},
	"attach": {"i": beside, "it": beside, "ti": beside, "t": beside, "tty": beside, "interactive": beside, "no-stdin": beside},
	"run": {
		"restart":     "--retries N restarts a task that fails",
		"link":        "tasks reach one another by published ports, or with --network host",
		"gpu":         "did you mean --gpus?",
		"mount":       "use -v HOST:CONTAINER[:ro]",
		"privileged":  "`privileged` is a field of task definitions, `pinion register`; the host has to allow it, `pinion up --allow privileged`",
		"cap-add":     "capabilities are a field of task definitions, `pinion register`; the host has to allow them, `pinion up --allow`",
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
		"begin":         "a start at a given time is not supported; " + holdFlag,
		"H":             holdFlag,
		"nice":          "--priority N, from 0 to 100, the highest first",
		"qos":           "--priority N, or --preemptible",
		"requeue":       "--retries N runs a task again that fails, --preemptible one that gave way",
		"nodelist":      placementFlags,
		"exclude":       placementFlags,
		"x":             placementFlags,
		"G":             "--gpus N gives a task GPUs",
		"gpus-per-node": "--gpus N gives a task GPUs",
		"gpus-per-task": "--gpus N gives a task GPUs",
		"D":             "--workdir DIR",
		"chdir":         "--workdir DIR",
		"wrap":          "`pinion run IMAGE -- sh -c 'COMMAND'`",
		"error":         output,

		"read-only":   "`readonlyRootFilesystem` is " + field,
		"hostname":    "`hostname` is " + field,
		"add-host":    "`extraHosts` is " + field,
		"dns":         "`dnsServers` is " + field,
		"pid":         "`pidMode` is " + field + "; the host has to allow it, `pinion up --allow host-pid`",
		"net":         "--network MODE",
		"pull":        "a host pulls an image when it does not have it",
		"platform":    "a task runs on the hosts whose architecture its image has",
		"stop-signal": "a container gets SIGTERM; --stop-timeout TIME is how long it has to end",
	},
	"stop": {
		"t": stopTimes, "time": stopTimes, "timeout": stopTimes, "me": ownTasks, "u": ownTasks, "user": ownTasks,
		"a": "--mine stops your tasks, `pinion ps -q | xargs pinion stop` all of the cluster", "all": "--mine stops your tasks, `pinion ps -q | xargs pinion stop` all of the cluster",
	},
	"queue":   {"me": ownTasks, "u": ownTasks, "user": ownTasks},
	"inspect": {"f": inspectFormat, "format": inspectFormat},
	"drain":   {"reason": "no reason is kept with a drain"},
	"ps": {
		"me": ownTasks, "u": ownTasks + "; --filter key=KEY is for those of another", "user": ownTasks + "; --filter key=KEY is for those of another",
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

// otherVerbs answers verbs of docker that a noun of ours has not.
var otherVerbs = map[string]map[string]string{
	"pinion compose": {
		"ps": "`pinion service ls` lists the services, `pinion ps` their tasks", "ls": "`pinion service ls` lists the services",
		"logs":    "`pinion service logs PROJECT-SERVICE`",
		"stop":    "`pinion service scale PROJECT-SERVICE=0` stops the tasks of a service, `pinion compose down` removes them all",
		"start":   "`pinion service scale PROJECT-SERVICE=N`, or `pinion compose up`",
		"restart": "`pinion service update PROJECT-SERVICE --force` replaces the tasks of a service",
		"scale":   "`pinion service scale PROJECT-SERVICE=N`",
		"exec":    "`pinion exec TASK -- COMMAND` runs a command in a task of a service; `pinion ps --group service:PROJECT-SERVICE` lists them",
		"run":     "`pinion run IMAGE` starts a task",
		"build":   "Pinion does not build images: build and push them, and name them with image",
		"pull":    "hosts pull images by themselves",
	},
	"pinion secret": {
		"create": "`pinion secret put NAME`", "set": "`pinion secret put NAME`", "add": "`pinion secret put NAME`", "update": "`pinion secret put NAME`", "rotate": "`pinion secret put NAME` puts another version",
		"show": "`pinion secret get NAME` prints the value", "inspect": "`pinion secret versions NAME` lists the versions, `pinion secret get NAME` prints the value", "describe": "`pinion secret versions NAME` lists the versions, `pinion secret get NAME` prints the value",
		"delete": "`pinion secret rm NAME`", "remove": "`pinion secret rm NAME`",
	},
}
