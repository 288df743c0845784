package envfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/node/envfile"
	"pinion/node/runtime"
	"pinion/node/task"
	of "pinion/raftfsm/envfile"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// bucket is a directory with files, as the bucket team of the host gpu-1.
func bucket(t *testing.T, files map[string]string) (dir string, b *envfile.Buckets) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "team")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := envfile.Open("gpu-1", map[string]string{"team": dir})
	if err != nil {
		t.Fatal(err)
	}
	return dir, b
}

func file(key string) of.File { return of.File{Type: of.TypeS3, Value: "arn:aws:s3:::team/" + key} }

// start prepares a container, whose specification has the environment of its definition and of the pool already.
func start(ctx context.Context, b *envfile.Buckets, env []string, files ...of.File) ([]string, error) {
	definition := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "main", EnvironmentFiles: files, Secrets: []valuefrom.Secret{{Name: "PASSWORD", ValueFrom: "db"}}}}}
	s := &task.Start{Spec: runtime.ContainerSpec{Def: &definition.Containers[0], Env: env}}
	for _, h := range b.Hooks(spec.Assignment{Definition: definition}) {
		if err := h.(task.PrestartHook).Prestart(ctx, []*task.Start{s}); err != nil {
			return nil, err
		}
		if err := h.(task.SpecHook).BuildSpec(s); err != nil {
			return nil, err
		}
	}
	return s.Spec.Env, nil
}

// The definition and the pool win over files, and an earlier file over a later one.
func TestFilesGiveWhatNothingElseSets(t *testing.T) {
	_, b := bucket(t, map[string]string{"a.env": "ONE=a\nTWO=a\nTWO=again\nRANK=7\nPASSWORD=of whoever writes the file\nNVIDIA_VISIBLE_DEVICES=all\n", "deep/b.env": "#\nTWO=b\nTHREE=$(id)\nFOUR=b"})
	got, err := start(t.Context(), b, []string{"FOUR=definition", "RANK=0", "NVIDIA_VISIBLE_DEVICES=void"}, file("a.env"), file("deep/b.env"))
	want := []string{"FOUR=definition", "RANK=0", "NVIDIA_VISIBLE_DEVICES=void", "ONE=a", "TWO=again", "THREE=$(id)"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if hooks := b.Hooks(spec.Assignment{Definition: &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "plain"}}}}); len(hooks) != 0 {
		t.Error("a task without files reads some")
	}
}

// Whatever is at the path, nothing but a regular file in the bucket is read, and the reason names the file and the host.
func TestNoPathLeadsOutOfABucket(t *testing.T) {
	dir, b := bucket(t, map[string]string{"../secret.env": "A=hunter2", "target.env": "A=1", "big.env": "A=" + strings.Repeat("hunter2\n", of.MaxSize/8), "half.env": "A=1" + strings.Repeat("\n", of.MaxSize/2), "binary.env": "A=hunter2\x00"})
	for name, target := range map[string]string{"out.env": "../secret.env", "absolute.env": filepath.Dir(dir) + "/secret.env", "shadow.env": "/etc/shadow", "self.env": "/proc/self/environ", "dir": "..", "inside.env": "target.env"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(unix.Mkfifo(dir+"/pipe.env", 0o600), os.Mkdir(dir+"/directory.env", 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"gone.env", "out.env", "absolute.env", "shadow.env", "self.env", "dir/secret.env", "../secret.env", "a/../../secret.env", "pipe.env", "directory.env", "big.env", "binary.env"} {
		if got, err := start(t.Context(), b, nil, file(key)); err == nil {
			t.Errorf("%s: %q", key, got)
		} else if _, ok := errors.AsType[*task.StartError](err); !ok || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "gpu-1") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if got, err := start(t.Context(), b, nil, file("inside.env")); err != nil || !slices.Equal(got, []string{"A=1"}) {
		t.Errorf("a link within the bucket: %q, %v", got, err)
	}
	if _, err := start(t.Context(), b, nil, file("half.env"), file("half.env"), file("target.env")); err == nil {
		t.Error("files that are too large together")
	}
	if _, err := start(t.Context(), b, nil, of.File{Type: of.TypeS3, Value: "arn:aws:s3:::other/a.env"}); err == nil || !strings.Contains(err.Error(), "--bucket other=DIR") {
		t.Errorf("a bucket that the host does not have: %v", err)
	}
}

func TestATaskThatStopsWaitsForNoFile(t *testing.T) {
	_, b := bucket(t, map[string]string{"a.env": "A=1"})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the task stops"))
	for range 100 { // more than are read at a time
		if _, err := start(ctx, b, nil, file("a.env")); err != nil && !strings.Contains(err.Error(), "the task stops") {
			t.Fatal(err)
		}
	}
}

func TestABucketIsADirectory(t *testing.T) {
	dir, _ := bucket(t, map[string]string{"a.env": ""})
	for _, path := range []string{dir + "/a.env", dir + "/gone"} {
		if _, err := envfile.Open("gpu-1", map[string]string{"team": path}); err == nil || !strings.Contains(err.Error(), "--bucket team="+path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
