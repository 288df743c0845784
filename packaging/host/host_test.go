package host

import (
	"context"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/api/cli"
	"pinion/api/cli/invocation"
	"pinion/node/datadir"
)

// newDataDir is a data directory with a name that sockets below it have room for. What lives from it is ended with the test.
func newDataDir(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("a whole host runs containers: run its tests as root")
	}
	dir, err := os.MkdirTemp("", "pinion-host-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := Down(context.Background(), cli.DownConfig{DataDir: dir, Purge: true, Force: true}); err != nil {
			t.Errorf("down: %v", err)
		}
	})
	return dir
}

// startHost is a host that says how clients reach it; end ends it in order, and so does the end of the test.
func startHost(t *testing.T, dir string) (end func() error) {
	t.Helper()
	return startLockedHost(t, dir, "")
}

// startLockedHost is startHost of a host with an unlock secret; empty is none.
func startLockedHost(t *testing.T, dir, secret string) (end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended, problem := make(chan struct{}), error(nil)
	go func() {
		defer close(ended)
		config := cli.UpConfig{DataDir: dir, Listen: "127.0.0.1:0", GPUs: cli.GPUOptions{Source: "sim:2xh100"}, Cluster: "default", NewPool: cli.PoolOptions{Servers: 1}}
		if secret != "" {
			config.Unlock = []byte(secret)
		}
		problem = Build{Version: "1.2.3"}.Up(ctx, config)
	}()
	end = func() error {
		cancel()
		<-ended
		return problem
	}
	t.Cleanup(func() { end() })
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ready, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for {
		if _, err := os.Stat(filepath.Join(dir, "client.json")); err == nil {
			return end
		}
		select {
		case <-tick.C:
		case <-ended:
			t.Fatalf("it ended: %v", problem)
		case <-ready.Done():
			t.Fatal("it does not say how clients reach it")
		}
	}
}

func TestTwoHostsLiveInOneProcess(t *testing.T) {
	one, two := newDataDir(t), newDataDir(t)
	endOne, endTwo := startHost(t, one), startHost(t, two)
	if err := endOne(); err != nil {
		t.Errorf("the first ended with %v", err)
	}
	if connection, err := net.Dial("unix", filepath.Join(two, "pinion.sock")); err != nil {
		t.Errorf("the second went with the first: %v", err)
	} else {
		connection.Close()
	}
	if err := endTwo(); err != nil {
		t.Errorf("the second ended with %v", err)
	}
}

func TestAPortInUseStartsNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := newDataDir(t)
	err = Build{}.Up(t.Context(), cli.UpConfig{DataDir: dir, Listen: taken.Addr().String(), GPUs: cli.GPUOptions{Source: "none"}})
	if err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("it answers %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "containerd")); !os.IsNotExist(err) {
		t.Errorf("a container runtime was begun: %v", err)
	}
}

// A host that cannot join its pool leaves neither a daemon nor programs behind.
func TestAHostThatComesToNothingLeavesNothingRunning(t *testing.T) {
	dir := newDataDir(t)
	err := Build{}.Up(t.Context(), cli.UpConfig{DataDir: dir, Listen: "127.0.0.1:0", GPUs: cli.GPUOptions{Source: "none"}, Cluster: "default", Join: "127.0.0.1:1", JoinToken: "not a token"})
	if err == nil {
		t.Fatal("it came up")
	}
	t.Log(err)
	if connection, err := net.Dial("unix", filepath.Join(dir, "containerd", "containerd.sock")); err == nil {
		connection.Close()
		t.Error("its containerd runs on")
	}
	if _, err := os.Stat(filepath.Join(dir, "bundle")); !os.IsNotExist(err) {
		t.Errorf("its programs are there: %v", err)
	}
}

func TestAHostThatRunsIsNotWorkedOn(t *testing.T) {
	dir := newDataDir(t)
	end := startHost(t, dir)
	if err := (Build{}).Recover(t.Context(), cli.OfflineHost{DataDir: dir}); err == nil {
		t.Error("its state was given a new incarnation while it ran")
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if err := (Build{}).Recover(t.Context(), cli.OfflineHost{DataDir: dir}); err != nil {
		t.Errorf("when it does not run: %v", err)
	}
}

func TestDownLeavesNoContainerRuntimeAlsoWhenItFails(t *testing.T) {
	dir := newDataDir(t)
	if err := startHost(t, dir)(); err != nil {
		t.Fatal(err)
	}
	network := filepath.Join(dir, "network")
	if err := os.RemoveAll(network); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(network, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Down(t.Context(), cli.DownConfig{DataDir: dir}); err == nil || !strings.Contains(err.Error(), network) {
		t.Errorf("a file where its networks are kept: %v", err)
	}
	if connection, err := net.Dial("unix", filepath.Join(dir, "containerd", "containerd.sock")); err == nil {
		connection.Close()
		t.Error("its containerd runs on")
	}
	if err := os.Remove(network); err != nil {
		t.Fatal(err)
	}
}

// Where a first start came to nothing there is nothing to end: no container runtime is started to look for it, and nothing is written.
func TestDownChangesNothingWhereNoHostEverRan(t *testing.T) {
	dir := t.TempDir()
	config := cli.DownConfig{DataDir: dir, Force: true}
	if _, err := Down(t.Context(), config); err == nil {
		t.Error("an empty directory is taken for a host's")
	}
	opened, err := datadir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	before := filesIn(t, dir)
	for _, force := range []bool{false, true} {
		config.Force = force
		if _, err := Down(t.Context(), config); err != nil {
			t.Errorf("force %v: %v", force, err)
		}
	}
	if after := filesIn(t, dir); !maps.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
	config.Purge = true
	if _, err := Down(t.Context(), config); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("--purge left it: %v", err)
	}
}

func TestADryRunOfDownLeavesTheHostRunning(t *testing.T) {
	dir := newDataDir(t)
	end := startHost(t, dir)
	if ended, err := Down(t.Context(), cli.DownConfig{DataDir: dir, Purge: true, Force: true, DryRun: true}); ended != 0 || err != nil {
		t.Errorf("%d tasks, %v", ended, err)
	}
	connection, err := net.Dial("unix", filepath.Join(dir, "containerd", "containerd.sock"))
	if err != nil {
		t.Fatal(err)
	}
	connection.Close()
	if err := end(); err != nil {
		t.Error(err)
	}
}

// filesIn is what each file of a directory says.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Error(err) // a directory is new
		}
		found[entry.Name()] = string(text)
	}
	return found
}

func TestAFileThatIsNoSnapshotIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(file, []byte("not a snapshot"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := InspectSnapshot(io.Discard, file, false); err == nil {
		t.Error("it was taken for one")
	}
}

func TestTheNextCommandFindsTheHost(t *testing.T) {
	for dir, want := range map[string]string{invocation.DefaultDataDir: "", "/srv/two hosts/b": " --data-dir '/srv/two hosts/b'"} {
		if got := dataDirFlag(dir); got != want {
			t.Errorf("%s: %q", dir, got)
		}
	}
}

// Keys of releases are those of the binary and those of the operator. A wrong one in the binary ends the start before anything is made.
func TestABinaryWithAWrongReleaseKeyDoesNotStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	err := Build{ReleaseKeys: "RWQ"}.Up(t.Context(), cli.UpConfig{DataDir: dir, Listen: "127.0.0.1:0", GPUs: cli.GPUOptions{Source: "none"}})
	if _, missing := os.Stat(dir); err == nil || missing == nil {
		t.Errorf("it started (%v), or made its data directory (%v)", err, missing)
	}
}
