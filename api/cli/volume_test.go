package cli

import (
	"strings"
	"testing"
)

func TestVolumesAreListedAndRemoved(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/volumes"] = serveDocument([]map[string]any{
		{"name": "cache", "hostId": "aaa", "hostName": "gpu-1"}, {"name": "cache", "hostId": "bbb", "hostName": "gpu-2"}, {"name": "models", "hostId": "bbb", "hostName": "gpu-2"},
	})
	h.documents["/v1/hosts"] = serveDocument([]map[string]any{{"id": "aaa", "name": "gpu-1", "connected": true}, {"id": "bbb", "name": "gpu-2", "connected": true}})
	models, cache, beyond := "admin/hosts/bbb/volumes/remove?name=models", "admin/hosts/aaa/volumes/remove?name=cache", "admin/hosts/aaa/volumes/remove?name=zzz"
	for _, path := range []string{models, cache, beyond} {
		h.operations[path] = always(map[string]any{})
	}
	if got := pinion(t, h, "volume", "ls", "--filter", "host=gpu-2", "-q"); got.out != "cache\nmodels\n" {
		t.Errorf("%q %s", got.out, got.err)
	}
	if got := pinion(t, h, "volume", "rm", "--dry-run", "models"); got.out != "models\n" || !strings.Contains(got.err, "nothing was changed") || h.callCount(models) != 0 {
		t.Errorf("%q %s", got.out, got.err)
	}
	if got := pinion(t, h, "volume", "rm", "models"); got.code != 0 || h.callCount(models) != 1 {
		t.Errorf("%q %s", got.out, got.err)
	}
	if got := pinion(t, h, "volume", "rm", "cache"); got.code == 0 || !strings.Contains(got.err, "gpu-1, gpu-2") || h.callCount(cache) != 0 {
		t.Errorf("on two hosts: %+v", got)
	}
	if got := pinion(t, h, "volume", "rm", "cache", "zzz", "--on-host", "gpu-1"); got.code != 0 || h.callCount(cache) != 1 || h.callCount(beyond) != 1 {
		t.Errorf("%q %s", got.out, got.err)
	}
	for _, wrong := range [][]string{{"volume", "rm"}, {"volume", "rm", "none"}} {
		if got := pinion(t, h, wrong...); got.code == 0 {
			t.Errorf("%v: %+v", wrong, got)
		}
	}
}
