package filesystem_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"pinion/node/filesystem"
	"pinion/node/runtime"
	"pinion/node/task"
	of "pinion/raftfsm/filesystem"
	"pinion/raftfsm/spec"
)

// mountTmpfs stands in for mount(8): a server whose files are in memory. It notes how it was called.
const mountTmpfs = `#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
for point; do :; done
exec mount -t tmpfs -o mode=755 none "$point"
`

// nas is a host with the file system models, and the programs that mount it.
type nas struct {
	t      *testing.T
	dir    string
	config filesystem.Config
	mounts *filesystem.Mounts
	log    strings.Builder
}

func newNAS(t *testing.T, mount string, given ...string) *nas {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root mounts")
	}
	n := &nas{t: t, dir: t.TempDir()}
	n.config = filesystem.Config{Host: "gpu-1", Dir: filepath.Join(n.dir, "filesystems"), Mount: n.program("mount", mount), Log: slog.New(slog.NewTextHandler(&n.log, nil))}
	for _, one := range given {
		f, err := of.Parse(one)
		if err != nil {
			t.Fatal(err)
		}
		n.config.FileSystems = append(n.config.FileSystems, f)
	}
	t.Cleanup(func() {
		for _, point := range n.points() {
			_ = unix.Unmount(point, unix.MNT_DETACH)
		}
	})
	n.open()
	return n
}

// open begins a process of the host anew. What the last one had in memory is gone.
func (n *nas) open() {
	n.t.Helper()
	var err error
	if n.mounts, err = filesystem.Open(n.config); err != nil {
		n.t.Fatal(err)
	}
}

func (n *nas) program(name, text string) string {
	n.t.Helper()
	path := filepath.Join(n.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		n.t.Fatal(err)
	}
	return path
}

// calls are the arguments of each call of mount.
func (n *nas) calls() []string {
	text, err := os.ReadFile(filepath.Join(n.dir, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		n.t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// points are the mount points of the host in the kernel.
func (n *nas) points() (all []string) {
	found, err := mountinfo.GetMounts(mountinfo.PrefixFilter(n.config.Dir))
	if err != nil {
		n.t.Fatal(err)
	}
	for _, i := range found {
		all = append(all, i.Mountpoint)
	}
	return all
}

// wantMounts waits for nothing: it says how many mounts there are now.
func (n *nas) wantMounts(want int) {
	n.t.Helper()
	if points := n.points(); len(points) != want {
		n.t.Errorf("mounted are %q, want %d; log:\n%s", points, want, &n.log)
	}
}

// user is a task with a volume in a file system.
type user struct {
	nas   *nas
	hooks []task.Hook
}

func (n *nas) task(id, name, root string) user {
	d := &spec.TaskDefinition{Volumes: []spec.Volume{{Name: "v", EFS: &of.EFSConfiguration{FileSystemID: name, RootDirectory: root}}}}
	return user{n, n.mounts.Hooks(spec.Assignment{Task: &spec.Task{ID: id}, Definition: d})}
}

// start prepares a container of the task, and returns what it mounts.
func (u user) start(ctx context.Context) (runtime.HostVolume, error) {
	s := &task.Start{Spec: runtime.ContainerSpec{Volumes: map[string]runtime.Volume{}}}
	for _, h := range u.hooks {
		if err := h.(task.PrestartHook).Prestart(ctx, []*task.Start{s}); err != nil {
			return nil, err
		}
		if err := h.(task.SpecHook).BuildSpec(s); err != nil {
			return nil, err
		}
	}
	return s.Spec.Volumes["v"].Host, nil
}

// mustStart is the path of the directory that a container of the task mounts.
func (u user) mustStart() string {
	u.nas.t.Helper()
	v, err := u.start(u.nas.t.Context())
	if err != nil {
		u.nas.t.Fatal(err)
	}
	file, err := v.Open()
	if err != nil {
		u.nas.t.Fatal(err)
	}
	defer file.Close()
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	if err != nil {
		u.nas.t.Fatal(err)
	}
	return path
}

func (u user) end() {
	u.nas.t.Helper()
	for _, h := range u.hooks {
		if err := h.(task.PoststopHook).Poststop(context.Background()); err != nil {
			u.nas.t.Error(err)
		}
	}
}

// Tasks that start at once find one mount, with the options of the operator and safe ones before them. It goes with the last of them.
func TestTasksShareAMount(t *testing.T) {
	n := newNAS(t, mountTmpfs, "models=nfs:10.0.0.5:/exports/my models,vers=4.2,ro")
	users := make([]user, 8)
	var all sync.WaitGroup
	for i := range users {
		users[i] = n.task(fmt.Sprint("task-", i), "models", "")
		all.Go(func() {
			if _, err := users[i].start(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n.wantMounts(1)
	if calls := n.calls(); len(calls) != 1 || !strings.HasPrefix(calls[0], "-t nfs -o nosuid,nodev,vers=4.2,ro -- 10.0.0.5:/exports/my models /") {
		t.Errorf("mount was called with %q", calls)
	}
	for _, u := range users[1:] {
		u.end()
	}
	n.wantMounts(1)
	root := users[0].mustStart()
	if err := os.MkdirAll(filepath.Join(root, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	below := n.task("below", "models", "/a/b/")
	if got := below.mustStart(); got != filepath.Join(root, "a", "b") {
		t.Errorf("the directory is %s", got)
	}
	users[0].end()
	n.wantMounts(1)
	below.end()
	n.wantMounts(0)
	if left, err := os.ReadDir(n.config.Dir); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// Links that a task has put into the file system lead no other task out of it, and a missing directory is not made.
func TestADirectoryStaysInItsFileSystem(t *testing.T) {
	n := newNAS(t, mountTmpfs, "models=nfs:nas:/x")
	planter := n.task("planter", "models", "/")
	root := planter.mustStart()
	for name, to := range map[string]string{"etc": "/etc", "up": "../..", "far": "../../../../../../etc", "self": "/proc/self/root", "loop": "loop", "home": "ours"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(root, "ours"), 0o755), unix.Mkfifo(filepath.Join(root, "pipe"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/etc", "/up", "/far/passwd", "/self/etc", "/loop", "/pipe", "/missing"} {
		u := n.task("t"+dir, "models", dir)
		v, err := u.start(t.Context())
		var start *task.StartError
		if !errors.As(err, &start) || start.Kind != "ResourceInitializationError" {
			t.Errorf("%s: %v, %v", dir, v, err)
		}
		u.end()
	}
	if got := n.task("inside", "models", "/home").mustStart(); got != filepath.Join(root, "ours") {
		t.Errorf("a link that stays inside leads to %s", got)
	}
	v, err := planter.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if file, err := v.Open(); err == nil {
		t.Errorf("without its file system the task gets %s", file.Name())
	}
}

// A file system that the host does not have is refused by the node too.
func TestAHostMountsNothingThatItsOperatorDoesNotName(t *testing.T) {
	n := newNAS(t, mountTmpfs, "models=nfs:nas:/x")
	for _, name := range []string{"other", "", "..", "models/..", "10.0.0.5:/x"} {
		u := n.task("t", name, "")
		if _, err := u.start(t.Context()); err == nil || !strings.Contains(err.Error(), "--file-system") {
			t.Errorf("%q: %v", name, err)
		}
		u.end()
	}
	if calls := n.calls(); len(calls) != 0 {
		t.Errorf("mount was called with %q", calls)
	}
}

// The output of mount is the reason of the task, without a possible login.
func TestAMountThatFailsSaysWhy(t *testing.T) {
	n := newNAS(t, "#!/bin/sh\necho \"mount: $6: bad option $4\" >&2\nexit 32\n", "juice=fuse.juicefs:redis://:geheim@nas/1,key=verschlossen")
	u := n.task("t", "juice", "")
	_, err := u.start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "bad option") || strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "verschlossen") {
		t.Errorf("got %v", err)
	}
	u.end()
	n.wantMounts(0)
}

// A process that was killed between the mount and the start of the task leaves the mount. The next one uses it for tasks that are still there,
// and unmounts it otherwise; what is not configured any more goes at once.
func TestARestartFindsWhatIsMounted(t *testing.T) {
	n := newNAS(t, mountTmpfs, "models=nfs:nas:/x", "old=nfs:nas:/old", "unused=nfs:nas:/unused")
	root := n.task("t", "models", "").mustStart()
	n.task("u", "old", "").mustStart()
	n.task("w", "unused", "").mustStart()
	n.wantMounts(3)

	n.config.FileSystems = n.config.FileSystems[:1:1]
	unused, _ := of.Parse("unused=nfs:nas:/unused,ro") // it is another one with other options
	n.config.FileSystems = append(n.config.FileSystems, unused)
	n.open()
	found := n.task("t", "models", "")
	n.mounts.UnmountUnused(t.Context())
	if got := found.mustStart(); got != root {
		t.Errorf("the task has %s, and had %s", got, root)
	}
	if calls := n.calls(); len(calls) != 3 {
		t.Errorf("it was mounted again: %q", calls)
	}
	n.until("what is left over is unmounted", func() bool { return len(n.points()) == 1 })

	n.open()
	n.mounts.UnmountUnused(t.Context())
	n.wantMounts(0)
}
