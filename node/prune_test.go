package node_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestImagesOfAssignedTasksAreKept(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.control.setDown(true)
		w.boot()
		w.advance(time.Hour)
		if kept := w.runtime.Kept(); len(kept) > 0 {
			t.Errorf("before the first assignments images were removed, all but %v", kept)
		}
		w.control.setDown(false)
		waiting := after(container("b"), "a")
		w.control.run("t1", container("a"), waiting)
		release := w.runtime.HoldPull("c:1")
		w.control.run("t2", container("c"))
		w.advance(6 * time.Minute)
		kept := w.runtime.Kept()
		if want := []string{"a:1", "b:1", "c:1"}; len(kept) == 0 || !slices.Equal(tagged(kept[len(kept)-1]), want) {
			t.Errorf("kept were %v, want %v", kept, want)
		}
		release()
		w.control.stop("t1", "enough")
		w.advance(6 * time.Minute)
		kept = w.runtime.Kept()
		if want := []string{"c:1"}; !slices.Equal(tagged(kept[len(kept)-1]), want) {
			t.Errorf("after a stop kept were %v, want %v", kept, want)
		}
	})
}

// tagged are the references without a digest: the names under which the images were pulled.
func tagged(refs []string) []string {
	return slices.DeleteFunc(slices.Clone(refs), func(ref string) bool { return strings.Contains(ref, "@") })
}
