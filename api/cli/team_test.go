package cli

import (
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

func TestTeamsAreSetListedAndRemoved(t *testing.T) {
	h := newFakeHost(t)
	h.operations["admin/teams"] = always(`{"name":"vision","gpus":16,"weight":2,"gpusInUse":20}`)
	h.operations["admin/teams/remove"] = always("{}")
	h.documents["/v1/teams"] = serveDocument(`[{"name":"","weight":1,"gpusInUse":3},{"name":"vision","gpus":16,"weight":2,"gpusInUse":20}]`)
	checkEqual(t, "set", pinion(t, h, "team", "set", "--quota", "16", "--weight", "2", "vision").out, `
TEAM    QUOTA  WEIGHT  IN USE
vision  16     2       20
`[1:])
	checkEqual(t, "asked", h.bodies["admin/teams"], `{"gpus":16,"name":"vision","weight":2}`)
	pinion(t, h, "team", "set", "--quota", "0", "vision")
	checkEqual(t, "asked for what is given alone", h.bodies["admin/teams"], `{"gpus":0,"name":"vision"}`)
	checkEqual(t, "ls", pinion(t, h, "team", "ls").out, `
TEAM    QUOTA  WEIGHT  IN USE
(none)  none   1       3
vision  16     2       20
`[1:])
	checkEqual(t, "rm", pinion(t, h, "team", "rm", "vision", "speech").out, "vision\nspeech\n")
	checkEqual(t, "asked", h.bodies["admin/teams/remove"], `{"name":"speech"}`)
}

func TestAQuotaThatCannotBeIsRefusedAtOnce(t *testing.T) {
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"vision"}, "pinion: give --quota, --weight or both; see pinion team set --help\n"},
		{[]string{"--quota", "-1", "vision"}, "pinion: --quota -1: a quota is 0 GPUs or more\n"},
		{[]string{"--weight", "1001", "vision"}, "pinion: --weight 1001: a weight is 1 to 1000\n"},
	} {
		h := newFakeHost(t)
		got := pinion(t, h, append([]string{"team", "set"}, c.arguments...)...)
		checkEqual(t, "stderr", got.err, c.want)
		if got.code != exit.Usage || len(h.calls) != 0 {
			t.Errorf("%v: exit code %d, asked %q", c.arguments, got.code, h.calls)
		}
	}
}

// A mistyped team would count the GPU-hours for nobody.
func TestRunSaysThatATeamIsNotSet(t *testing.T) {
	for team, want := range map[string]string{"vision": "", "vison": "no team vison is set (`pinion team ls`); did you mean vision?", "robotics": "no team robotics is set"} {
		h := newRunHost(t, pending, running)
		h.documents["/v1/teams"] = serveDocument(`[{"name":"","weight":1},{"name":"vision","weight":2}]`)
		got := pinion(t, h, "run", "-d", "--team", team, "nvidia/cuda")
		if got.code != 0 || !strings.Contains(got.err, want) || want == "" && strings.Contains(got.err, "team") {
			t.Errorf("%s: %+v", team, got)
		}
	}
}
