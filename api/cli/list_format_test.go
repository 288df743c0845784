package cli

import (
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

func TestFiltersKeepWhatHasAValue(t *testing.T) {
	array := taskDocument("00f1"+taskOne[4:], `work:1","lastStatus":"RUNNING","desiredStatus":"RUNNING","createdAt":1748779020.000,"containers":[{"gpuIds":["GPU-3"]}],"tags":[{"key":"owner","value":"Ann"}]`)
	h := newFakeHost(t).withTasks(runningTask, failedTask, array)
	h.documents["/v1/queue?cluster=default"] = serveDocument("[]")
	for filters, want := range map[string]string{
		"status=running":               "00f1" + taskOne[4:] + " " + taskOne,
		"status!=RUNNING":              taskTwo,
		"status=stopped host=gpu-1":    taskTwo,
		"host=gpu-1":                   taskOne + " " + taskTwo,
		"host!=gpu*":                   "00f1" + taskOne[4:],
		"task=work* task=trainer:3":    "00f1" + taskOne[4:] + " " + taskOne,
		"task!=work* task!=trainer:3":  taskTwo,
		"id=91bc00000000":              taskTwo,
		"group=family:trainer":         taskOne,
		"containers.exitCode=137":      taskTwo,
		"containers.gpuIds=GPU-2":      taskOne,
		"tags.value=ann":               "00f1" + taskOne[4:],
		"exit-reason=*OutOfMemory*":    taskTwo,
		"name=trainer":                 taskOne,
		"name=work":                    "00f1" + taskOne[4:],
		"name=cuda name!=work":         taskTwo,
		"group= status=RUNNING":        "00f1" + taskOne[4:],
		"status=nothing":               "",
		"STATUS=stopped":               taskTwo,
		"EXIT_REASON=*OutOfMemory*":    taskTwo,
		"desiredStatus=RUNNING gpus=2": taskOne,
	} {
		line := []string{"ps", "-a", "-q"}
		for _, filter := range strings.Fields(filters) {
			line = append(line, "--filter", filter)
		}
		if got := pinion(t, h, line...); strings.Join(strings.Fields(got.out), " ") != want || got.code != 0 {
			t.Errorf("%s: %+v, want %s", filters, got, want)
		}
	}
	for _, wrong := range []string{"colour=red", "status", "=x"} {
		if got := pinion(t, h, "ps", "--filter", wrong); got.code != exit.Usage {
			t.Errorf("%s: %+v", wrong, got)
		}
	}
	if got := pinion(t, h, "ps", "--filter", "status=exited"); !strings.Contains(got.err, "RUNNING") {
		t.Errorf("that nothing is left, and what there is, is not said: %+v", got)
	}
}

func TestFormatsAreTemplatesOverTheJSON(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask, failedTask)
	for format, want := range map[string]string{
		"{{id .taskArn}} {{.lastStatus}}":                                                 taskOne + " RUNNING\n" + taskTwo + " STOPPED\n",
		`{{.group}}\t{{lower .lastStatus}}{{if eq .lastStatus "STOPPED"}}!{{end}}`:        "family:trainer\trunning\n\tstopped!\n",
		"{{range .containers}}{{.name}} {{.exitCode}}{{end}}":                             "trainer \ncuda 137\n",
		"{{time .createdAt}} {{time .startedAt}}":                                         "2025-06-01 11:57:00Z -\n2025-06-01 09:59:59Z -\n",
		`table {{id .taskArn}}\t{{.lastStatus}}/{{.desiredStatus}}\t{{.stopCode}}`:        "TASK ARN                          LAST STATUS/DESIRED STATUS  STOP CODE\n" + taskOne + "  RUNNING/RUNNING\n" + taskTwo + "  STOPPED/STOPPED             EssentialContainerExited\n",
		"{{.overrides.name.deeper}}{{id .startedBy}}{{len .tags}}{{index .containers 7}}": "0\n0\n",
		"{{range .containers}}{{range .gpuIds}}{{.}} {{end}}{{$.overrides.cpu}}{{end}}":   "GPU-1 GPU-2 \n\n",
		"{{(index .containers 0).exitCode}}|{{with .nothing}}{{.x}}{{else}}none{{end}}":   "|none\n137|none\n",
		"{{.ID}} {{.Host}} {{.EXIT_REASON}}":                                              "3f2a00000000 gpu-1 \n91bc00000000 gpu-1 137 OutOfMemoryError: Container killed due to memory usage\n",
		`table {{.TASK}}\t{{upper .HOST}}`:                                                "TASK        HOST\ntrainer:3   GPU-1\nrun-cuda:1  GPU-1\n",
		"{{with index .containers 0}}{{join .gpuIds \",\"}}{{end}}":                       "GPU-1,GPU-2\n",
	} {
		args := []string{"ps", "-a", "--utc", "--format", format}
		if strings.Contains(format, "join") {
			args = []string{"ps", "--utc", "--format", format}
		}
		checkEqual(t, format, pinion(t, h, args...).out, want)
	}
	compact := pinion(t, h, "ps", "--format", "json").out
	if strings.Count(compact, "\n") != 1 || !strings.Contains(compact, `"gpuIds":["GPU-1","GPU-2"]`) {
		t.Errorf("%q", compact)
	}
	for _, list := range []string{"ps", "hosts", "gpus"} {
		if got := pinion(t, h, list, "--format", "{{.nmae}}"); got.out != "" || got.code != exit.Usage || !strings.Contains(got.err, "there is no member .nmae; there are .") {
			t.Errorf("%s with a member that there is not: %+v", list, got)
		}
	}
	if got := pinion(t, h, "hosts", "--format", "{{len .tags}}{{.lostAt}}"); got.out != "0\n" || got.code != 0 {
		t.Errorf("members that are left out today: %+v", got)
	}
	for _, wrong := range [][]string{{"--format", "{{"}, {"--format", "{{lower .containers}}"}, {"--format", "{{.taskArn}} {{.Names}}"}, {"--format", "{{range .containers}}{{.Colour}}{{end}}"}, {"--format", "json", "-o", "json"}} {
		if got := pinion(t, h, append([]string{"ps"}, wrong...)...); got.code != exit.Usage || got.out != "" {
			t.Errorf("%v: %+v", wrong, got)
		}
	}
	checkEqual(t, "hosts", pinion(t, h, "hosts", "--format", "{{.name}}: {{len .free.gpus}} of {{len .gpus.devices}}").out, "gpu-1: 1 of 3\n")
	checkEqual(t, "gpus", pinion(t, h, "gpus", "--filter", "team=vision", "--format", "{{.uuid}}").out, "GPU-1\nGPU-2\n")
}
