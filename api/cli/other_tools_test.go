package cli

import (
	"context"
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

// Who has several options wrong is told all of them at once.
func TestAllThatIsWrongWithALineIsSaidAtOnce(t *testing.T) {
	h := newRunHost(t, running)
	for line, says := range map[string][]string{
		"up --gpus 8 --log-level loud --attribute x --servers 2 --pids-limit -1": {"--gpus", "--log-level", "--attribute", "--servers", "--pids-limit"},
		"run --gpu 1 --memroy 2g --cpus two img":                                 {"did you mean --gpus", "did you mean --memory", "--cpus takes a number"},
		"run --gpus -1 --cpus 0 --volume ./a:/a --priority 500 --count 0 img":    {"--gpus -1", "--cpus 0", `--volume "./a:/a"`, "--priority 500", "--count 0"},
		"run --service web --array 0-3 --retries 2 --priority 500 img":           {"--array is not for services", "--retries is not for services", "--priority 500"},
		"ps --al --filtr a=b": {"did you mean --all", "did you mean --filter"},
		"service create --volume /a:/a --user 1 registered:3": {"--volume is a part", "--user is a part"},
	} {
		h.operations["DescribeTaskDefinition"] = always(`{"taskDefinition":{"family":"registered","revision":3,"containerDefinitions":[{"name":"c"}]}}`)
		got := pinionWith(t, Program{Up: func(context.Context, UpConfig) error { t.Error("it starts"); return nil }}, h, strings.Fields(line)...)
		if got.code != exit.Usage || strings.Count(got.err, "\n") != len(says) {
			t.Errorf("%s: %+v", line, got)
		}
		for _, text := range says {
			if !strings.Contains(got.err, text) {
				t.Errorf("%s: %q is missing: %s", line, text, got.err)
			}
		}
	}
}

// Who comes from docker or Slurm types what is typed there, and is told what it is called here.
func TestOptionsOfOtherToolsAreAnsweredWithOurs(t *testing.T) {
	for name, c := range map[string]struct{ line, says string }{
		"docker's time to stop":          {"stop -t 1 3f2a", "--force ends it at once"},
		"slurm's time limit":             {"run -t 10 img", "--time-limit"},
		"a time limit by its other name": {"task run --time 2h img", "--time-limit"},
		"slurm's memory":                 {"run --mem 64G img", "--memory"},
		"slurm's name":                   {"run -J train img", "--name"},
		"slurm's dependency":             {"run --dependency=afterok:1 img", "--after"},
		"slurm's tasks":                  {"run -n 4 img", "--gang"},
		"slurm's partition":              {"run --partition gpu img", "--cluster"},
		"slurm's hold":                   {"run -H img", "--hold"},
		"slurm's hosts":                  {"run --nodelist gpu-7 img", "--on-host NAME"},
		"slurm's nice":                   {"run --nice 5 img", "--priority N"},
		"slurm's output":                 {"run --output x.out img", "pinion logs TASK"},
		"slurm's own tasks":              {"queue --me", "--mine"},
		"docker's network":               {"run --net host img", "--network MODE"},
		"docker's format":                {"inspect -f {{.ID}} 3f2a", "pinion ps --format"},
		"everybody's tasks":              {"stop --all", "--mine"},
		"a throttle of an array":         {"run --array 0-9%2 img", "no lists (1,3), steps (0-9:3) and throttles (0-9%2)"},
		"a priority behind its task":     {"task set-priority lo 90", "PRIORITY goes first"},
		"compose's ps":                   {"compose ps", "pinion service ls"},
		"compose's logs":                 {"compose logs", "pinion service logs PROJECT-SERVICE"},
		"docker's pause":                 {"pause web", "pinion task hold TASK"},
		"docker's mount":                 {"run --mount type=bind img", "-v HOST:CONTAINER[:ro]"},
		"docker's devices":               {"run --device /dev/nvidia0 img", "--gpus N"},
		"docker's ports":                 {"run -P img", "--publish PORT"},
		"docker's filter":                {"ps -f name=x", "--filter"},
		"docker's long ids":              {"task ls --no-trunc", "-o wide"},
		"all GPUs":                       {"run --gpus all img", "Pinion chooses the GPUs"},
		"a GPU by its number":            {"run --gpus device=0 img", "Pinion chooses the GPUs"},
		"a relative directory":           {"run -v ./share:/share img", "relative paths are not taken"},
		"an address to publish on":       {"run -p 127.0.0.1:18081:80 img", "an IP address is not supported"},
		"a verb that a noun has not":     {"team add --gpus 4 vision", `pinion team has no "add"; there are set, ls, rm`},
	} {
		if got := pinion(t, nil, strings.Fields(c.line)...); got.code != exit.Usage || !strings.Contains(got.err, c.says) {
			t.Errorf("%s: pinion %s: %+v, want %q", name, c.line, got, c.says)
		}
	}
}
