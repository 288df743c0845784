package containerd

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
)

// oneSnapshot is a snapshotter with the snapshot "c".
type oneSnapshot struct {
	snapshots.Snapshotter
	upper string
}

func (s oneSnapshot) Mounts(_ context.Context, key string) ([]mount.Mount, error) {
	if key != "c" {
		return nil, errdefs.ErrNotFound
	}
	return []mount.Mount{{Type: "overlay", Source: "overlay", Options: []string{"index=off", "workdir=/w", "upperdir=" + s.upper, "lowerdir=/l"}}}, nil
}

// The files that a container has written go before containerd removes its snapshot; the directory itself is containerd's.
func TestWhatAContainerHasWrittenIsRemovedFirst(t *testing.T) {
	s := oneSnapshot{upper: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(s.upper, "a", "b", "c"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"c", "gone"} {
		if err := clearWritable(t.Context(), s, key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if left, err := os.ReadDir(s.upper); len(left) > 0 || err != nil {
		t.Errorf("%v is left, %v", left, err)
	}
}
