package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pinion/node"
	"pinion/node/volume"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/volumeroot"
)

// A shared volume goes with all that is in it, but not from under a task, whichever way its definition leads there.
func TestAVolumeIsNotRemovedFromUnderATask(t *testing.T) {
	for name, of := range map[string]struct {
		volume spec.Volume
		holds  bool
	}{
		"its shared volume":              {spec.Volume{Name: "models", Docker: &volumeroot.DockerConfiguration{Scope: volumeroot.ScopeShared, Autoprovision: new(true)}}, true},
		"a directory in it":              {spec.Volume{Name: "v", Host: &spec.HostVolume{SourcePath: "local/models/llama"}}, true},
		"a link to it":                   {spec.Volume{Name: "v", Host: &spec.HostVolume{SourcePath: "local/models2/link"}}, true},
		"the directory of all of them":   {spec.Volume{Name: "v", Host: &spec.HostVolume{SourcePath: "local"}}, true},
		"another one":                    {spec.Volume{Name: "v", Host: &spec.HostVolume{SourcePath: "local/models2"}}, false},
		"scratch space of the same name": {spec.Volume{Name: "models"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				dir := filepath.Join(w.dir, "data")
				file := filepath.Join(dir, "volumes", "models", "llama", "weights")
				w.must(os.MkdirAll(filepath.Dir(file), 0o755))
				w.must(os.WriteFile(file, []byte("weights"), 0o644))
				w.must(os.MkdirAll(filepath.Join(dir, "volumes", "models2"), 0o755))
				w.must(os.Symlink("../models", filepath.Join(dir, "volumes", "models2", "link")))
				var err error
				w.volumes, err = volume.Open(nil, dir)
				w.must(err)
				w.boot()
				task := w.control.assign("t1", spec.TaskDefinition{Volumes: []spec.Volume{of.volume}, Containers: []spec.ContainerDefinition{container("main")}})
				w.waitIdle()
				w.wantRunning(id(task, "main"))
				if err := node.NewVolumes(w.node).RemoveVolume("models"); errors.Is(err, spec.ErrInUse) != of.holds || (err == nil) == of.holds {
					w.Errorf("while a task runs: %v", err)
				}
				if _, err := os.Stat(file); (err == nil) != of.holds {
					w.Errorf("what is in it: %v", err)
				}
				w.control.stop(task, "enough")
				w.waitIdle()
				if err := node.NewVolumes(w.node).RemoveVolume("models"); (err == nil) != of.holds || !of.holds && !errors.Is(err, spec.ErrNotFound) {
					w.Errorf("when the task has ended: %v", err)
				}
				w.waitIdle()
				if left, err := filepath.Glob(filepath.Join(dir, "volumes", ".*")); err != nil || len(left) > 0 {
					w.Errorf("%v is left: %v", left, err)
				}
			})
		})
	}
}

// gives are the directories that the host gives to tasks.
func (w *simHost) gives() []volumeroot.Root {
	if w.volumes == nil {
		return nil
	}
	return w.volumes.List()
}

func (w *simHost) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}
