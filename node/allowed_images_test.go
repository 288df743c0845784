package node_test

import (
	"strings"
	"testing"

	"pinion/raftfsm/imagepolicy"
	"pinion/raftfsm/spec"
)

// A host starts no image that the cluster of the task does not allow, whatever was placed on it.
func TestAHostStartsTheImagesThatTheClusterAllows(t *testing.T) {
	for policy, refused := range map[string]bool{"docker.io/library": false, "registry.example.com": true} {
		simulate(t, func(w *simHost) {
			w.control.rules.AllowedImages = imagepolicy.Policy(policy)
			w.boot()
			task := w.control.run("t1", container("main"))
			w.waitIdle()
			report := w.control.lastReport(task)
			if got := report.StopCode == spec.StopFailedToStart && strings.Contains(report.StoppedReason, spec.SettingAllowedImages); got != refused {
				t.Errorf("%s: %s %s", policy, report.Status, report.StoppedReason)
			}
		})
	}
}
