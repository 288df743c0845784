package mps

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// standIn is a program that behaves as NVIDIA's control does towards its callers, as far as the package relies on it, and shares no GPU. As a
// daemon it says what it sees and waits for a word over a pipe; as the utility it answers, refuses or hangs by the file "mode".
const standIn = `#!/bin/sh
cd "$CUDA_MPS_PIPE_DIRECTORY" || exit 2
mode=$(cat ../mode 2>/dev/null)
if [ "$1" = -f ]; then
	[ "$mode" = broken ] && exit 3
	env > ../daemon-env
	mkfifo control
	read word < control
	exit 0
fi
read command
case "$mode" in
hangs) mkfifo never 2>/dev/null; read word < never ;;
esac
[ -p control ] || { echo "Cannot find MPS control daemon process"; exit 1; }
case "$mode.$command" in
odd.*) echo "Unknown command" ;;
*.get_default_active_thread_percentage) echo 100.0 ;;
*.quit) echo quit > control ;;
esac
`

func newControl(t *testing.T, mode string) Control {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "nvidia-cuda-mps-control")
	if err := os.WriteFile(program, []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	c := Control{Program: program, Dir: filepath.Join(dir, "gpu"), Timeout: time.Minute}
	if err := os.MkdirAll(c.PipeDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	setMode(t, c, mode)
	return c
}

func setMode(t *testing.T, c Control, mode string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.Dir, "mode"), []byte(mode), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestADaemonServesUntilItIsStopped(t *testing.T) {
	c := newControl(t, "serves")
	d, err := Start(t.Context(), c, "GPU-1")
	if err != nil {
		t.Fatal(err)
	}
	if found, why := c.Probe(t.Context()); found != Serving {
		t.Errorf("it is %s: %s", found, why)
	}
	env, err := os.ReadFile(filepath.Join(c.Dir, "daemon-env"))
	if lines := strings.Split(string(env), "\n"); err != nil || !slices.Contains(lines, "CUDA_VISIBLE_DEVICES=GPU-1") || !slices.Contains(lines, "CUDA_MPS_PIPE_DIRECTORY="+c.PipeDir()) {
		t.Errorf("it sees %q, %v", env, err)
	}
	d.Stop(t.Context())
	<-d.Exited()
	if err := d.Err(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestNoContainerStartsWithoutADaemonThatServes has every way in which a daemon does not.
func TestNoContainerStartsWithoutADaemonThatServes(t *testing.T) {
	nowhere := newControl(t, "")
	nowhere.Program = "/nowhere/nvidia-cuda-mps-control"
	hangs := newControl(t, "hangs")
	hangs.Timeout = 50 * time.Millisecond
	for name, c := range map[string]struct {
		Control
		want Health
	}{
		"no daemon":            {newControl(t, ""), NotServing},
		"no program":           {nowhere, NotServing},
		"one that hangs":       {hangs, Wedged},
		"an answer of nothing": {running(t, "odd"), NotServing},
	} {
		found, why := c.Probe(t.Context())
		if found != c.want || why == "" {
			t.Errorf("%s: %s, %q", name, found, why)
		}
		if err := c.Gate(t.Context()); err == nil || !strings.Contains(err.Error(), string(c.want)) {
			t.Errorf("%s: the gate says %v", name, err)
		}
	}
}

// running is a control whose daemon runs and behaves in that mode from then on.
func running(t *testing.T, mode string) Control {
	t.Helper()
	c := newControl(t, "serves")
	d, err := Start(t.Context(), c, "GPU-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.kill)
	setMode(t, c, mode)
	return c
}

func TestADaemonThatDoesNotServeIsEnded(t *testing.T) {
	for _, mode := range []string{"broken", "hangs"} {
		c := newControl(t, mode)
		if mode == "hangs" {
			c.Timeout = 50 * time.Millisecond
		}
		if d, err := Start(t.Context(), c, "GPU-1"); err == nil {
			d.kill()
			t.Errorf("%s: it was started", mode)
		}
	}
}

func TestADaemonThatIsWedgedIsKilled(t *testing.T) {
	c := newControl(t, "serves")
	d, err := Start(t.Context(), c, "GPU-1")
	if err != nil {
		t.Fatal(err)
	}
	setMode(t, c, "hangs")
	d.Timeout = 50 * time.Millisecond
	d.Stop(context.WithoutCancel(t.Context()))
	<-d.Exited()
	if d.Err() == nil {
		t.Error("a daemon that was killed ended well")
	}
}
