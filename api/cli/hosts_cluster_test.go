package cli

import (
	"strings"
	"testing"
)

func TestHostsOfOneClusterAlone(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/hosts?cluster=default"] = serveDocument(hostsDocument)
	h.documents["/v1/hosts?cluster=lab"] = serveDocument([]any{})
	h.documents["/v1/hosts?cluster=lba"] = serveDocument([]any{})
	h.operations["ListClusters"] = always(map[string]any{"clusterArns": []string{"arn:aws:ecs:us-east-1:123456789012:cluster/default", "arn:aws:ecs:us-east-1:123456789012:cluster/lab"}})
	if got := pinion(t, h, "hosts", "--cluster", "default", "-q"); got.out != hostOne+"\n" {
		t.Errorf("%+v", got)
	}
	if got := pinion(t, h, "host", "ls", "--cluster", "lab", "-q"); got.out != "" || got.code != 0 {
		t.Errorf("a cluster without hosts: %+v", got)
	}
	if got := pinion(t, h, "hosts", "--cluster", "lba"); got.code == 0 || !strings.Contains(got.err, "there is no cluster \"lba\"") {
		t.Errorf("no such cluster: %+v", got)
	}
}

func TestHostsShowWhenADrainStopsTheTasks(t *testing.T) {
	h := newFakeHost(t)
	for document, says := range map[string]string{
		`"status":"DRAINING","stopTasksAt":"2025-06-01T12:25:00Z"`: "in 25m",
		`"status":"DRAINING","stopTasksAt":"2025-06-01T11:00:00Z"`: "now",
	} {
		h.documents["/v1/hosts"] = serveDocument(strings.Replace(hostsDocument, `"status":"ACTIVE"`, document, 1))
		checkEqual(t, says, pinion(t, h, "hosts", "--format", "{{.STATUS}} {{.STOPS_TASKS}}").out, "DRAINING "+says+"\n")
	}
	h.documents["/v1/hosts"] = serveDocument(hostsDocument)
	if got := pinion(t, h, "hosts"); strings.Contains(got.out, "STOPS TASKS") {
		t.Errorf("a column that says nothing: %s", got.out)
	}
}

func TestHostsSayWhichListenersDoNotServe(t *testing.T) {
	h := newFakeHost(t)
	problem := `"listenerProblems":[{"listener":"l","port":443,"problem":"address already in use"}],"status":"ACTIVE"`
	h.documents["/v1/hosts"] = serveDocument(strings.Replace(hostsDocument, `"status":"ACTIVE"`, problem, 1))
	got := pinion(t, h, "hosts", "-o", "wide").out
	if !strings.Contains(got, "LISTENER") || !strings.Contains(got, "port 443 does not serve: address already in use") {
		t.Error(got)
	}
}

func TestHostsShowWhoHoldsAVirtualIP(t *testing.T) {
	h := newFakeHost(t)
	offers := `"virtualIPs":[{"ip":"10.0.0.100","bits":24,"held":true},{"ip":"10.0.0.101","bits":24,"held":false,"problem":"in use"}],"status":"ACTIVE"`
	h.documents["/v1/hosts"] = serveDocument(strings.Replace(hostsDocument, `"status":"ACTIVE"`, offers, 1))
	got := pinion(t, h, "hosts", "-o", "wide").out
	for _, says := range []string{"VIRTUAL IPS", "10.0.0.100, (10.0.0.101)", "VIRTUAL-IP", "the virtual IP 10.0.0.101: in use"} {
		if !strings.Contains(got, says) {
			t.Errorf("%q is not there: %s", says, got)
		}
	}
}
