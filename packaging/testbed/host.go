package testbed

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// port is the port of every host; each has an address of its own.
const port = 7400

// Host is one Pinion host of a testbed.
type Host struct {
	Name string     // host1 and so on, also its host name
	Dir  string     // the data directory of its pinion
	IP   netip.Addr // in the testbed's subnet
	Disk Disk       // what Dir is on
	Env  []string   // of the pinion that is launched next, beside this process's own: "NAME=VALUE"
	Own  string     // absolute path of a pinion program of its own; empty: that of the testbed

	flags     []string
	namespace string
	base      string // begins the names of the host's files in the testbed's directory
	testbed   *Testbed

	mu        sync.Mutex
	logOffset int64 // length of the log when pinion was started last
}

// Address is HOST:PORT of its TLS port; only the hosts of the testbed reach it.
func (h *Host) Address() string { return netip.AddrPortFrom(h.IP, port).String() }

// Binary is the absolute path of its pinion program.
func (h *Host) Binary() string { return cmp.Or(h.Own, h.testbed.state.Binary) }

// LogFile is the path of the output of its pinion, over all starts.
func (h *Host) LogFile() string { return h.base + ".log" }

func (h *Host) pidFile() string { return h.base + ".pid" }

// JoinFlags creates a join token for so many hosts of a cluster on this host, and returns the flags of `pinion up` with it.
func (h *Host) JoinFlags(uses int, cluster string) ([]string, error) {
	token, err := h.Pinion("token", "--uses", fmt.Sprint(uses), "--cluster", cluster)
	if err != nil {
		return nil, err
	}
	return []string{"--join", h.Address(), "--token", strings.TrimSpace(token)}, nil
}

// Cluster is the cluster that its flags name.
func (h *Host) Cluster() string {
	if i := slices.Index(h.flags, "--cluster"); i >= 0 && i+1 < len(h.flags) {
		return h.flags[i+1]
	}
	return "default"
}

// Start launches pinion and waits until it is ready.
func (h *Host) Start(ctx context.Context, more ...string) error {
	if err := h.StartDetached(more...); err != nil {
		return err
	}
	return h.Ready(ctx)
}

// StartDetached starts `pinion up` in the host's namespaces with its flags and more. It goes on when this process ends.
func (h *Host) StartDetached(more ...string) error {
	if p, ok := h.process(); ok {
		return fmt.Errorf("pinion runs on %s already (process %d)", h.Name, p.pid)
	}
	log, err := os.OpenFile(h.LogFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.logOffset = info.Size()
	h.mu.Unlock()
	args := append([]string{"--data-dir", h.Dir, "up", "--listen", h.Address(), "--advertise", h.Address()}, h.flags...)
	cmd := exec.Command(h.Binary(), append(args, more...)...)
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(os.Environ(), h.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return inNamespace(h.namespace, h.Name, func() error { return h.startProcess(cmd) })
}

// startProcess starts pinion and records its process id; it kills the process when the record fails.
func (h *Host) startProcess(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	p, _ := findProcess(cmd.Process.Pid)
	err := writeFile(h.pidFile(), []byte(p.String()+"\n"))
	if err != nil {
		err = errors.Join(err, cmd.Process.Kill())
	}
	go cmd.Wait()
	return err
}

// Ready waits for the ready line of the pinion that was launched last.
func (h *Host) Ready(ctx context.Context) error {
	return poll(ctx, h.Name+" is not ready", func() (bool, error) {
		text := h.Output()
		if strings.HasPrefix(text, readyLine) || strings.Contains(text, "\n"+readyLine) {
			return true, nil
		}
		if _, ok := h.process(); !ok {
			return false, fmt.Errorf("pinion up on %s ended:\n%s", h.Name, h.Output())
		}
		return false, nil
	})
}

const readyLine = "Pinion is ready at "

// Output is the output of pinion since its last launch.
func (h *Host) Output() string {
	h.mu.Lock()
	from := h.logOffset
	h.mu.Unlock()
	log, err := os.Open(h.LogFile())
	if err != nil {
		return ""
	}
	defer log.Close()
	raw, _ := io.ReadAll(io.NewSectionReader(log, from, math.MaxInt64-from))
	return string(raw)
}

// Adopt takes the pinion that has the lock of the data directory for the host's: one that another process has started, as the guard of an upgrade does.
func (h *Host) Adopt() error {
	text, err := os.ReadFile(filepath.Join(h.Dir, "lock"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	p, ok := findProcess(pid)
	if !ok {
		return fmt.Errorf("no pinion runs on %s", h.Name)
	}
	return writeFile(h.pidFile(), []byte(p.String()+"\n"))
}

// process returns the running pinion, or false.
func (h *Host) process() (process, bool) {
	raw, err := os.ReadFile(h.pidFile())
	if err != nil {
		return process{}, false
	}
	p, err := parseProcess(string(raw))
	return p, err == nil && p.alive()
}

// Status is "running", "stopped" (by Pause) or "down".
func (h *Host) Status() string {
	p, ok := h.process()
	if !ok {
		return "down"
	}
	if s, _ := readStat(p.pid); s.state == "T" {
		return "stopped"
	}
	return "running"
}

// PID is the process id of the running pinion; 0 without one.
func (h *Host) PID() int {
	if p, ok := h.process(); ok {
		return p.pid
	}
	return 0
}

// Kill ends pinion with SIGKILL and waits until it is gone. Its tasks and its containerd run on.
func (h *Host) Kill(ctx context.Context) error { return h.signalAndWait(ctx, unix.SIGKILL) }

// Terminate ends pinion with SIGTERM and waits until it is gone.
func (h *Host) Terminate(ctx context.Context) error { return h.signalAndWait(ctx, unix.SIGTERM) }

func (h *Host) signalAndWait(ctx context.Context, sig unix.Signal) error {
	p, ok := h.process()
	if !ok {
		return nil
	}
	if err := errors.Join(p.signal(sig), p.signal(unix.SIGCONT)); err != nil {
		return err
	}
	return p.waitExit(ctx)
}

// Pause halts pinion with SIGSTOP: its connections stay, and nothing answers on them.
func (h *Host) Pause() error { return h.sendSignal(unix.SIGSTOP) }

// Resume ends Pause.
func (h *Host) Resume() error { return h.sendSignal(unix.SIGCONT) }

func (h *Host) sendSignal(sig unix.Signal) error {
	p, ok := h.process()
	if !ok {
		return fmt.Errorf("no pinion runs on %s", h.Name)
	}
	return p.signal(sig)
}

// Run runs a command inside the host's namespaces. It finds pinion in its PATH.
func (h *Host) Run(cmd *exec.Cmd) error {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(h.Binary())+":"+os.Getenv("PATH"))
	if err := inNamespace(h.namespace, h.Name, cmd.Start); err != nil {
		return err
	}
	return cmd.Wait()
}

// Pinion runs the CLI on the host and returns its standard output; the error carries standard error.
func (h *Host) Pinion(args ...string) (string, error) {
	cmd := exec.Command(h.Binary(), append([]string{"--data-dir", h.Dir}, args...)...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := h.Run(cmd); err != nil {
		return out.String(), fmt.Errorf("pinion %s on %s: %w: %s", strings.Join(args, " "), h.Name, err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}
