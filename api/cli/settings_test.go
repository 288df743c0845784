package cli

import (
	"strings"
	"testing"
)

func TestSettingsOfThePoolAreShownAndChanged(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/admin/settings"] = serveDocument(`{"servers":3,"replaceAfter":"5m0s","lostAfter":"1h0m0s"}`)
	h.operations["admin/settings"] = always(`{"servers":5,"replaceAfter":"5m0s","lostAfter":"2m0s"}`)
	for _, line := range []string{"pool", "pool show"} {
		if got := pinion(t, h, strings.Fields(line)...); got.code != 0 || !strings.Contains(got.out, "lost-after     1h ") {
			t.Errorf("%s: %+v", line, got)
		}
	}
	got := pinion(t, h, "pool", "set", "servers=5", "lost-after=2d")
	checkEqual(t, "sent", h.bodies["admin/settings"], `{"lostAfter":"48h0m0s","servers":5}`)
	if got.code != 0 || !strings.Contains(got.out, "lost-after     2m ") {
		t.Errorf("%+v", got)
	}
	for word, want := range map[string]string{"server=5": `"servers"`, "servers=4": "1, 3 or 5", "lost-after": "VALUE", "lost-after=soon": "2d", "frobnicate=1": "replace-after"} {
		if got := pinion(t, h, "pool", "set", word); got.code != 2 || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v", word, got)
		}
	}
}

func TestPromoteOfAServerAndDemoteOfAnAgentChangeNothing(t *testing.T) {
	h := newTwoHostPool(t)
	if got := pinion(t, h, "hosts", "promote", "gpu-1"); got.code != 0 || got.out != "gpu-1 is a server already\n" || h.callCount("admin/hosts/promote") != 0 {
		t.Errorf("%+v", got)
	}
}

func TestRemovingAHostWithTasksSaysWhatToDo(t *testing.T) {
	h := newTwoHostPool(t, 1)
	h.operations["admin/hosts/remove"] = always(errorReply{400, "ResourceInUseException", "host aaaa: in use: it still has tasks (1)"})
	got := pinion(t, h, "hosts", "rm", "gpu-1")
	checkEqual(t, "stderr", got.err, "pinion: gpu-1 still runs 1 task: `pinion host drain gpu-1` first, or --force\n")
}

// A refusal names the host by its id, as programs do.
func TestARefusedChangeNamesItsHostOnce(t *testing.T) {
	h := newTwoHostPool(t)
	h.operations["admin/hosts/remove"] = always(errorReply{400, "ResourceInUseException", "host " + hostOne + ": in use: it is the pool's only server"})
	checkEqual(t, "stderr", pinion(t, h, "hosts", "rm", "gpu-1").err, "pinion: host gpu-1: it is the pool's only server\n")
	if got := pinion(t, h, "hosts", "rm", "gpu-1", "-o", "json"); !strings.Contains(got.err, "(ResourceInUseException)") {
		t.Errorf("%+v", got)
	}
}
