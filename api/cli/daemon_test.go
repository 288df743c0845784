package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

const daemonARN = "arn:aws:ecs:us-east-1:0:daemon/default/"

// addSampleDaemons has a host answer as a cluster with n daemons, of which every third is steady, is being updated or is being deleted.
func addSampleDaemons(h *fakeHost, n int) {
	arn := func(i int) string { return fmt.Sprintf("%s%s-%04d", daemonARN, family(i), i) }
	h.operations["ListDaemons"] = always(`{"daemonSummariesList":[` + repeat(n, func(i int) string { return fmt.Sprintf(`{"daemonArn":%q}`, arn(i)) }) + `]}`)
	h.operations["DescribeDaemon"] = func(in map[string]any) any {
		given := in["daemonArn"].(string)
		i, _ := strconv.Atoi(given[strings.LastIndex(given, "-")+1:])
		status, revisions := "ACTIVE", fmt.Sprintf(`{"arn":"r/%d","totalRunningCount":%d,"totalWithoutDaemonCount":0,"capacityProviders":[]}`, i, 2+i%7)
		switch i % 3 {
		case 1:
			revisions = fmt.Sprintf(`{"arn":"r/%d","totalRunningCount":%d,"totalWithoutDaemonCount":1},{"arn":"r/old","totalRunningCount":2,"totalWithoutDaemonCount":0}`, i, i%7)
		case 2:
			status = "DELETE_IN_PROGRESS"
		}
		return fmt.Sprintf(`{"daemon":{"daemonArn":%q,"status":%q,"currentRevisions":[%s],"createdAt":%d}}`, given, status, revisions, 1748779200-3600*i)
	}
	h.operations["DescribeDaemonRevisions"] = func(in map[string]any) any {
		given := in["daemonRevisionArns"].([]any)
		return `{"daemonRevisions":[` + repeat(len(given), func(i int) string {
			return fmt.Sprintf(`{"daemonRevisionArn":%q,"daemonTaskDefinitionArn":"x/agents:%d"}`, given[i], 1+i)
		}) + `]}`
	}
}

// Daemons are listed, filtered and shown as services are: by name, with what ECS says of them.
func TestDaemonsAreListedAndShown(t *testing.T) {
	h := newFakeHost(t)
	addSampleDaemons(h, 3)
	names := strings.Fields(pinion(t, h, "daemon", "ls", "-q").out)
	if len(names) != 3 || names[0] != family(0)+"-0000" {
		t.Fatalf("%v", names)
	}
	if got := pinion(t, h, "daemon", "ls", "--filter", "rollout=steady", "--format", "{{.NAME}} {{.HOSTS}} {{.DEFINITION}}"); got.out != names[0]+" 2/2 agents:1\n" {
		t.Errorf("%+v", got)
	}
	var shown []struct{ DaemonARN, DaemonTaskDefinitionARN, Status string }
	got := pinion(t, h, "daemon", "inspect", names[1], names[2])
	if err := json.Unmarshal([]byte(got.out), &shown); err != nil || len(shown) != 2 {
		t.Fatalf("%+v: %v", got, err)
	}
	if shown[0].DaemonARN != daemonARN+names[1] || shown[0].DaemonTaskDefinitionARN != "x/agents:1" || shown[1].Status != "DELETE_IN_PROGRESS" {
		t.Errorf("%+v", shown)
	}
	if got := pinion(t, h, "daemon", "inspect", "none"); got.code == 0 || !strings.Contains(got.err, "none") || got.out != "" {
		t.Errorf("a daemon that there is not: %+v", got)
	}
}
