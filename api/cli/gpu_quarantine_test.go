package cli

import (
	"net/http"
	"strings"
	"testing"
)

// A GPU is named as `pinion gpus` lists it, and the task that keeps it is told.
func TestGPUsArePutInQuarantineAndReleased(t *testing.T) {
	h := newFakeHost(t).withTasks()
	var asked []string
	for _, change := range []string{"quarantine", "release"} {
		h.operations["admin/gpus/"+change] = func(in map[string]any) any {
			reason, _ := in["reason"].(string)
			asked = append(asked, change+" "+in["gpu"].(string)+" "+reason)
			return map[string]any{}
		}
	}
	got := pinion(t, h, "gpus", "quarantine", "gpu-1/0", "gpu-1/2", "--reason", "burns")
	checkEqual(t, "stdout", got.out, "gpu-1/0 (GPU-1) is in quarantine\ngpu-1/2 (GPU-3) is in quarantine\n")
	checkEqual(t, "stderr", got.err, "task 3f2a00000000 keeps it: `pinion stop 3f2a00000000` ends that\n")
	pinion(t, h, "gpus", "release", "GPU-1", "GPU-00000000-0000-0000-0000-000000000007") // which has left its host
	checkEqual(t, "asked", strings.Join(asked, "; "), "quarantine GPU-1 burns; quarantine GPU-3 burns; release GPU-1 ; release GPU-00000000-0000-0000-0000-000000000007 ")
	asked = nil
	for _, wrong := range [][]string{{}, {"gpu-1/7"}, {"gpu-1"}, {"GPU-"}, {"gpu-1/0", "nothing"}} {
		if got := pinion(t, h, append([]string{"gpus", "quarantine"}, wrong...)...); got.code == 0 || got.err == "" {
			t.Errorf("%v: %+v", wrong, got)
		}
	}
	if len(asked) > 0 {
		t.Errorf("what is wrong was asked: %v", asked)
	}
}

func TestGPUsAreCheckedAndReset(t *testing.T) {
	h := newFakeHost(t).withTasks()
	var asked []string
	h.operations["admin/gpus/GPU-1/check"] = func(map[string]any) any { asked = append(asked, "check"); return map[string]any{} }
	h.operations["admin/gpus/GPU-1/reset"] = func(map[string]any) any { asked = append(asked, "reset"); return map[string]any{} }
	answer := `{"done": true}`
	h.documents["/v1/admin/gpus/GPU-1/check"] = func(http.ResponseWriter) any { return answer }
	got := pinion(t, h, "gpus", "check", "gpu-1/0")
	checkEqual(t, "stdout", got.out, "gpu-1/0 (GPU-1) works\n")
	answer = `{"done": true, "problem": "12 words differ"}`
	if got := pinion(t, h, "gpus", "reset", "gpu-1/0"); got.code == 0 || !strings.Contains(got.err, "12 words differ") {
		t.Errorf("a GPU that is broken: %+v", got)
	}
	answer = `{"done": false}`
	got = pinion(t, h, "gpus", "reset", "--no-wait", "gpu-1/0")
	checkEqual(t, "stdout", got.out, "gpu-1/0 (GPU-1) is going to be checked\n")
	h.operations["admin/gpus/GPU-1/forget"] = func(map[string]any) any { asked = append(asked, "forget"); return map[string]any{} }
	got = pinion(t, h, "gpus", "forget", "gpu-1/0")
	checkEqual(t, "stdout", got.out, "gpu-1/0 (GPU-1) is forgotten\n")
	checkEqual(t, "asked", strings.Join(asked, " "), "check reset reset forget")
}
