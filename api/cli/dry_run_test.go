package cli

import (
	"context"
	"strings"
	"testing"
)

// What --dry-run shows has not happened: the host is asked for nothing but what is there.
func TestADryRunChangesNothing(t *testing.T) {
	var changes = []string{"StopTask", "DeleteService", "admin/hosts/remove", "UpdateContainerInstancesState", "admin/images/unpin", "admin/images/remove"}
	for line, shown := range map[string]string{
		"stop --dry-run 3f2a":             taskOne,
		"host rm --force --dry-run gpu-2": "gpu-2",
		"leave --dry-run":                 "would wait for 1 task",
		"leave --force --dry-run":         "would stop 1 task",
		"service rm --dry-run web":        "web",
	} {
		t.Run(line, func(t *testing.T) {
			h := newTwoHostPool(t, 1, 1, 1)
			hosts := h.documents["/v1/hosts"]
			h.withTasks(runningTask)
			h.documents["/v1/hosts"] = hosts
			h.operations["DescribeServices"] = always(`{"services":[` + steady + `]}`)
			p := Program{Down: func(context.Context, DownConfig) (int, error) { t.Error("the machine was cleaned up"); return 0, nil }}
			got := pinionWith(t, p, h, strings.Fields(line)...)
			if got.code != 0 || !strings.Contains(got.out, shown) || !strings.Contains(got.out+got.err, "nothing was changed") {
				t.Errorf("%+v", got)
			}
			for _, change := range changes {
				if n := h.callCount(change); n > 0 {
					t.Errorf("%s: %d times", change, n)
				}
			}
		})
	}
}

// A dry run refuses what the command would refuse.
func TestADryRunRefusesWhatTheCommandWould(t *testing.T) {
	h := newTwoHostPool(t, 1)
	with, without := pinion(t, h, "host", "rm", "--dry-run", "gpu-1"), pinion(t, h, "host", "rm", "--dry-run", "--force", "gpu-1")
	if with.code != 1 || without.code != 0 {
		t.Errorf("%+v, %+v", with, without)
	}
}

func TestDownShowsWhatItWouldEnd(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	var asked DownConfig
	p := Program{Down: func(_ context.Context, c DownConfig) (int, error) { asked = c; return 3, nil }}
	got := pinionWith(t, p, nil, "down", "--purge", "--force", "--dry-run")
	if got.code != 0 || !asked.DryRun || !strings.Contains(got.err, "would end 3 tasks") || !asked.Purge || !strings.Contains(got.err, "would remove ") {
		t.Errorf("%+v, %+v", got, asked)
	}
}
