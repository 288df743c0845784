package cli

import (
	"strings"
	"testing"
)

// unplaced is a door on which a task of `pinion run` waits first, for which each host lacks something.
func unplaced(t *testing.T, lack string) *door {
	t.Helper()
	waiting := taskDocument(taskOne, `run-cuda:4","lastStatus":"PROVISIONING","containers":[]`)
	d := runDoor(t, waiting, waiting, waiting, waiting, waiting, waiting, pending, exited(0))
	d.documents["/v1/tasks/"+taskOne+"/explain"] = page(`{"taskId":"` + taskOne + `","status":"PROVISIONING","queue":{"taskId":"` + taskOne + `","impossible":` + lack + `}}`)
	return d
}

const tooFew = `{"hostId":"` + hostOne + `","reason":"RESOURCE:GPU","detail":"needs 9 GPUs, the host has 8"}`

func TestWhatNoHostCouldEverRunIsSaidAtOnceAndWaitsAllTheSame(t *testing.T) {
	got := pinion(t, unplaced(t, tooFew), "run", "--gpus", "9", "nvidia/cuda")
	first, rest, _ := strings.Cut(got.err, "\n")
	same(t, "stderr", first, "warning: no host of cluster default could ever run task 3f2a00000000 (gpu-1 is nearest: needs 9 GPUs, the host has 8). "+
		"It waits for a host that can; Ctrl-C stops it")
	if got.code != 0 || !strings.Contains(got.out, "epoch 1") || strings.Contains(rest, "pinion why") {
		t.Errorf("it is to wait, and to say so once: %+v", got)
	}
}

func TestADetachedRunSaysItBesideTheID(t *testing.T) {
	got := pinion(t, unplaced(t, tooFew), "run", "-d", "--gpus", "9", "nvidia/cuda")
	same(t, "stdout", got.out, taskOne+"\n")
	if !strings.Contains(got.err, "could ever run task 3f2a00000000") || !strings.HasSuffix(got.err, "`pinion stop 3f2a00000000` stops it\n") {
		t.Errorf("stderr: %q", got.err)
	}
}

func TestAGangThatIsTooLargeAndAClusterWithoutHostsAreSaidSo(t *testing.T) {
	for lack, says := range map[string]string{
		`{"reason":"RESOURCE:GPU","detail":"the 8 tasks of the gang start together, and the hosts together have room for 4 of them at most"}`: "could ever run task 3f2a00000000 (the 8 tasks of the gang start together",
		`{"reason":"MISSING","detail":"the cluster has no host"}`:                                                                             "cluster lab has no host. It waits for one; `pinion stop 3f2a00000000` stops it. `sudo pinion up --cluster lab` starts a host\n",
	} {
		if got := pinion(t, unplaced(t, lack), "run", "-d", "--cluster", "lab", "nvidia/cuda"); !strings.Contains(got.err, says) {
			t.Errorf("%s: %q", lack, got.err)
		}
	}
}

func TestWithNoWaitNobodyAsksWhy(t *testing.T) {
	d := unplaced(t, tooFew)
	if got := pinion(t, d, "run", "-d", "--no-wait", "nvidia/cuda"); got.err != "" || d.did("/v1/tasks/"+taskOne+"/explain") != 0 {
		t.Errorf("%+v", got)
	}
}
