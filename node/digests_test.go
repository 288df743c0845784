package node_test

import (
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

const (
	oldDigest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	newDigest = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

func TestARestartTakesTheDigestOfTheFirstStart(t *testing.T) {
	for consistency, want := range map[string]string{"": oldDigest, "enabled": oldDigest, "disabled": newDigest} {
		t.Run("versionConsistency "+consistency, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.boot()
				d := restartable("main")
				d.VersionConsistency = consistency
				w.runtime.MoveTag(d.Image, oldDigest)
				task := w.control.run("t1", d)
				w.waitIdle()
				w.runtime.MoveTag(d.Image, newDigest)
				w.advance(time.Minute)
				w.machine.Exit(id(task, "main"), 1)
				w.waitIdle()
				w.want("starts", w.machine.StartCount(id(task, "main")), 2)
				w.want("digest", w.runtime.Spec(id(task, "main")).Image.Digest, want)
				w.want("reported digest", w.control.lastReport(task).Containers[0].ImageDigest, want)
			})
		})
	}
}

func TestTheTasksOfARunWaitForOneDigest(t *testing.T) {
	for name, decided := range map[string]string{"this host's": newDigest, "another host's": oldDigest} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.boot()
				d := container("main")
				w.runtime.MoveTag(d.Image, newDigest)
				task := w.control.assign("t1", spec.TaskDefinition{Containers: []spec.ContainerDefinition{d}}, func(t *spec.Task) { t.Run = "t0" })
				w.waitIdle()
				w.wantRunning()
				w.want("proposed digest", w.control.lastReport(task).Containers[0].ImageDigest, newDigest)
				w.control.decideDigest(task, decided)
				w.waitIdle()
				w.wantRunning(id(task, "main"))
				w.want("digest", w.runtime.Spec(id(task, "main")).Image.Digest, decided)
			})
		})
	}
}

func TestADecisionThatComesDuringThePullCounts(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		d := container("main")
		w.runtime.MoveTag(d.Image, newDigest)
		letGo := w.runtime.HoldPull(d.Image)
		task := w.control.assign("t1", spec.TaskDefinition{Containers: []spec.ContainerDefinition{d}}, func(t *spec.Task) { t.Run = "t0" })
		w.waitIdle()
		w.control.decideDigest(task, oldDigest)
		w.waitIdle()
		letGo()
		w.waitIdle()
		w.want("digest", w.runtime.Spec(id(task, "main")).Image.Digest, oldDigest)
		w.want("reported digest", w.control.lastReport(task).Containers[0].ImageDigest, oldDigest)
	})
}

func TestATaskThatWasMadeAloneAsksNobodyForItsDigest(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		letGo := w.runtime.HoldPull("main:1")
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.control.setDown(true)
		letGo()
		w.waitIdle()
		w.wantRunning(id(task, "main"))
	})
}
