package mps

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAGPUIsSharedUntilItsEnd(t *testing.T) {
	m := newMachine(t)
	d := m.daemons()
	pipes, err := d.Share(t.Context(), uuid, 300)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CUDA_VISIBLE_DEVICES=" + uuid, "CUDA_MPS_PIPE_DIRECTORY=" + pipes} {
		if env := m.read(t, "daemon-env"); !slices.Contains(env, want) {
			t.Errorf("%s is not in the daemon's environment %v", want, env)
		}
	}
	if !slices.Equal(m.modes, []string{uuid + " exclusive"}) {
		t.Errorf("the compute modes were %v", m.modes)
	}
	daemon := d.of(uuid).daemonPID()
	if _, err := d.Share(t.Context(), uuid, 100); err != nil || d.Check(uuid) != nil {
		t.Errorf("a second share: %v, %v", err, d.Check(uuid))
	}
	if again := d.of(uuid).daemonPID(); again == 0 || again != daemon {
		t.Error("the second share has a daemon of its own")
	}
	if err := d.End(t.Context(), uuid); err != nil || d.of(uuid).ownedBy(daemon) {
		t.Errorf("the daemon runs on, %v", err)
	}
	m.wantNothingLeft(t)
	if err := d.End(t.Context(), uuid); err != nil || len(m.modes) != 2 {
		t.Errorf("ending again: %v, compute modes %v", err, m.modes)
	}
}

// The daemon keeps every client to the greatest share, so that none gets more by changing its own limit: servers that it will start, and those that run.
func TestTheLimitIsThatOfTheGreatestShare(t *testing.T) {
	m := newMachine(t)
	d, err := m.share(t, "serves")
	if err != nil {
		t.Fatal(err)
	}
	for _, mib := range []int64{200, 700, 500} {
		if mib == 500 {
			d = m.daemons() // after a restart of the agent
		}
		if _, err := d.Share(t.Context(), uuid, mib); err != nil {
			t.Fatal(err)
		}
	}
	server := m.read(t, "server")[0]
	var limits []string
	for _, command := range m.read(t, "commands") {
		if strings.HasPrefix(command, "set_") {
			limits = append(limits, command)
		}
	}
	want := []string{
		"set_default_device_pinned_mem_limit 0 300M", "set_device_pinned_mem_limit " + server + " 0 300M",
		"set_default_device_pinned_mem_limit 0 700M", "set_device_pinned_mem_limit " + server + " 0 700M",
	}
	if !slices.Equal(limits, want) {
		t.Errorf("the limits were %q, want %q", limits, want)
	}
}

// TestNoContainerStartsWithoutADaemonThatServes has every way in which a daemon does not. Nothing is left of it.
func TestNoContainerStartsWithoutADaemonThatServes(t *testing.T) {
	for _, mode := range []string{"broken", "old", "hangs"} {
		m := newMachine(t)
		if _, err := m.share(t, mode); err == nil {
			t.Errorf("%s: the GPU is shared", mode)
		}
		m.wantNothingLeft(t)
	}
	for mode, want := range map[string]Health{"odd": NotServing, "hangs": Wedged} {
		m := newMachine(t)
		if _, err := m.share(t, "serves"); err != nil {
			t.Fatal(err)
		}
		if _, err := m.share(t, mode); err == nil || !strings.Contains(err.Error(), string(want)) {
			t.Errorf("a daemon that becomes %s: %v", mode, err)
		}
	}
	m := newMachine(t)
	m.program = "/nowhere/nvidia-cuda-mps-control"
	if _, err := m.daemons().Share(t.Context(), uuid, 300); err == nil {
		t.Error("a GPU is shared without the program")
	}
	m.wantNothingLeft(t)
	m = newMachine(t)
	m.err = errors.New("not permitted")
	if _, err := m.daemons().Share(t.Context(), uuid, 300); !errors.Is(err, m.err) {
		t.Errorf("a GPU that stays in its compute mode: %v", err)
	}
	m.err = nil
}

// Whatever takes the work of the clients with it is told, until the GPU is as any other.
func TestWhatEndsTheClientsIsTold(t *testing.T) {
	for name, harm := range map[string]func(*testing.T, *machine, *Daemons){
		"the server ends": func(t *testing.T, m *machine, d *Daemons) {
			pids, err := servers(d.of(uuid).daemonPID())
			if err != nil || len(pids) != 1 {
				t.Fatal(pids, err)
			}
			kill(t, pids[0])
		},
		"the daemon ends": func(t *testing.T, m *machine, d *Daemons) { kill(t, d.of(uuid).daemonPID()) },
		"the daemon hangs": func(t *testing.T, m *machine, d *Daemons) {
			d.of(uuid).Timeout, d.of(uuid).probed = 50*time.Millisecond, time.Time{}
			m.setMode(t, "hangs")
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			d, err := m.share(t, "serves")
			if err != nil {
				t.Fatal(err)
			}
			if err := d.of(uuid).check(t.Context(), d.config.Log); err != nil {
				t.Fatal(err)
			}
			harm(t, m, d)
			if err := d.Watch(t.Context(), uuid); err == nil {
				t.Fatal("nothing is told")
			}
			if _, err := d.Share(t.Context(), uuid, 300); err == nil || d.Check(uuid) == nil {
				t.Error("a container starts on a GPU that others are to leave")
			}
			if err := d.End(t.Context(), uuid); err != nil {
				t.Error(err)
			}
			m.wantNothingLeft(t)
			if _, err := m.daemons().Share(t.Context(), uuid, 300); err != nil {
				t.Errorf("it is not shared again: %v", err)
			}
		})
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	m := newMachine(t)
	d, err := m.share(t, "serves")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Watch(ctx, uuid); err != nil {
		t.Error(err)
	}
}

// The daemon goes on without the agent. The next one keeps it while containers have shares of its GPU, and ends it otherwise.
func TestTheNextAgentFindsTheDaemons(t *testing.T) {
	m := newMachine(t)
	d, err := m.share(t, "serves")
	if err != nil {
		t.Fatal(err)
	}
	daemon := d.of(uuid).daemonPID()
	next := m.daemons()
	if err := next.EndOthers(t.Context(), []string{uuid}); err != nil || next.Check(uuid) != nil {
		t.Errorf("a GPU that containers share: %v, %v", err, next.Check(uuid))
	}
	if err := m.daemons().EndOthers(t.Context(), nil); err != nil || d.of(uuid).ownedBy(daemon) {
		t.Errorf("the daemon of a GPU that nobody shares runs on, %v", err)
	}
	m.wantNothingLeft(t)
}

// A process that has the id of a daemon by chance is not ended for it.
func TestAnotherProcessIsNoDaemon(t *testing.T) {
	m := newMachine(t)
	d, err := m.share(t, "serves")
	if err != nil {
		t.Fatal(err)
	}
	real := m.read(t, filepath.Join("pipe", pidFile))[0]
	m.write(t, filepath.Join("pipe", pidFile), "1")
	if found := d.of(uuid).daemonPID(); found != 0 {
		t.Errorf("process %d is taken for the daemon", found)
	}
	m.write(t, filepath.Join("pipe", pidFile), real)
}

// A container may put into its environment what it likes: its processes are none of MPS, and keep no GPU from being given back.
func TestAProcessOfAContainerIsNoneOfMPS(t *testing.T) {
	m := newMachine(t)
	c := m.daemons().of(uuid)
	process := exec.Command("sleep", "1000")
	process.Env = []string{"CUDA_MPS_PIPE_DIRECTORY=" + c.PipeDir()}
	process.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if err := process.Start(); err != nil {
		t.Skip("a process in a namespace of its own needs root: ", err)
	}
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	if c.ownedBy(process.Process.Pid) {
		t.Error("it is taken for one of MPS")
	}
}

func TestTheEndOfAGPUThatHasLeftNeedsNoDriver(t *testing.T) {
	m := newMachine(t)
	d, err := m.share(t, "serves")
	if err != nil {
		t.Fatal(err)
	}
	m.err = errors.New("no such GPU")
	if err := d.End(t.Context(), uuid); !errors.Is(err, m.err) {
		t.Errorf("a GPU that keeps its compute mode is given back: %v", err)
	}
	m.gone = true
	if err := d.End(t.Context(), uuid); err != nil {
		t.Errorf("a GPU that has left: %v", err)
	}
}

func TestALogThatIsTooLongIsEmptied(t *testing.T) {
	m := newMachine(t)
	d, err := m.share(t, "serves")
	if err != nil {
		t.Fatal(err)
	}
	s := d.of(uuid)
	long, short := filepath.Join(s.logDir(), "server.log"), filepath.Join(s.logDir(), "control.log")
	write(t, long, strings.Repeat("x", maxLog+1), 0o644)
	write(t, short, "x", 0o644)
	if err := s.check(t.Context(), d.config.Log); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int64{long: 0, short: 1} {
		if info, err := os.Stat(path); err != nil || info.Size() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}

// TestNVIDIAsOwnDaemon runs the real control daemon, which serves without a GPU. PINION_TEST_MPS_CONTROL is its path.
func TestNVIDIAsOwnDaemon(t *testing.T) {
	program := os.Getenv("PINION_TEST_MPS_CONTROL")
	if program == "" {
		t.Skip("PINION_TEST_MPS_CONTROL names no nvidia-cuda-mps-control")
	}
	m := newMachine(t)
	m.program = program
	d := m.daemons()
	for _, mib := range []int64{300, 700} {
		if _, err := d.Share(t.Context(), uuid, mib); err != nil {
			t.Fatal(err)
		}
	}
	daemon := d.of(uuid).daemonPID()
	if daemon == 0 || d.of(uuid).check(t.Context(), d.config.Log) != nil {
		t.Fatal("the daemon is not found")
	}
	if err := d.End(t.Context(), uuid); err != nil || d.of(uuid).ownedBy(daemon) {
		t.Errorf("it runs on, %v", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	m.wantNothingLeft(t)
}
