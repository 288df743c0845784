package cli

import (
	"net/http"
	"strings"
	"testing"
)

// Of the whole pool only what is not well is printed, and hosts that do not answer; of a host that was named everything.
func TestHostsOfThePoolCheckTheirMachines(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/hosts"] = serveDocument(`[{"id":"2","name":"gpu-10"},{"id":"1","name":"gpu-2"},{"id":"3","name":"gpu-3"}]`)
	h.documents["/v1/admin/hosts/1/doctor"] = serveDocument(`[{"check":"kernel","level":"ok","found":"Linux 6.1"},{"check":"disk room","level":"failed","found":"1 GiB is free","do":"remove images"}]`)
	h.documents["/v1/admin/hosts/2/doctor"] = serveDocument(`[{"check":"kernel","level":"ok","found":"Linux 6.1"},{"check":"clock sync","level":"warning","found":"not synchronised","do":"run chrony"}]`)
	h.documents["/v1/admin/hosts/3/doctor"] = func(w http.ResponseWriter) any {
		w.WriteHeader(http.StatusInternalServerError)
		return `{"__type":"ServerException","message":"Host gpu-3 cannot be reached."}`
	}
	got := pinion(t, h, "doctor", "--all")
	checkEqual(t, "stdout", got.out, `gpu-2   failed   disk room         1 GiB is free
                                   -> remove images
gpu-3   unknown  -                 Host gpu-3 cannot be reached.
gpu-10  warning  clock sync        not synchronised
                                   -> run chrony
3 hosts: 1 check failed, 1 warning; 1 host did not answer
`)
	if got.code != 1 {
		t.Errorf("exit code %d", got.code)
	}
	got = pinion(t, h, "doctor", "--on-host", "gpu-10")
	if got.code != 0 || !strings.Contains(got.out, "Linux 6.1") || strings.Contains(got.out, "gpu-2") {
		t.Errorf("one host: %+v", got)
	}
	if got = pinion(t, h, "doctor", "--all", "-o", "json"); !strings.Contains(got.out, `"error": "Host gpu-3 cannot be reached."`) {
		t.Errorf("JSON: %s", got.out)
	}
	if got = pinion(t, h, "doctor", "--on-host", "gpu-7"); got.code == 0 || !strings.Contains(got.err, "gpu-7") {
		t.Errorf("a host that is not there: %+v", got)
	}
}
