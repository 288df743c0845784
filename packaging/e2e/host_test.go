package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pinion/api/client"
)

// waitTimeout bounds every wait. It is generous: nothing here measures speed.
const waitTimeout = 2 * time.Minute

// binary is the program under test.
var binary, _ = filepath.Abs("../../bin/pinion")

// host is one `pinion up` with a data directory of its own.
type host struct {
	dir      string // data directory
	volume   string // a directory that tasks may mount
	listen   string // 127.0.0.1:port
	flags    []string
	api      *client.Client // to the unix socket of the pinion that was started last
	cmd      *exec.Cmd
	exited   chan error
	output   *lockedBuffer
	registry string // directory for --registry-config
	program  string // path of the program, instead of the one under test
}

// newHost prepares a host that is not started yet.
func newHost(t testing.TB, flags ...string) *host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("the end-to-end tests make containers: run them as root")
	}
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v: run `make build` first", err)
	}
	dir, err := os.MkdirTemp("", "pinion-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	volume, err := os.MkdirTemp("", "pinion-e2e-volume-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(volume) })
	return &host{dir: dir, volume: volume, listen: freeAddress(t), flags: append(flags, "--volume", volume), output: &lockedBuffer{}}
}

// witness is a new directory that the test's tasks may mount.
func (h *host) witness(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(h.volume, "witness-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// up starts a host and waits for its ready line; the test's end removes it with everything it made.
func up(t testing.TB, flags ...string) *host {
	t.Helper()
	h := newHost(t, flags...)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	return h
}

// start runs `pinion up` until its ready line.
func (h *host) start(t testing.TB) {
	t.Helper()
	if err := h.tryStart(); err != nil {
		t.Fatalf("%v\n%s", err, h.output)
	}
}

func (h *host) tryStart() (err error) {
	if h.api, err = client.New(client.Config{Socket: filepath.Join(h.dir, "pinion.sock")}); err != nil { // without connections to the one before
		return err
	}
	args := append([]string{"--data-dir", h.dir, "up", "--listen", h.listen, "--log-level", "debug"}, h.flags...)
	if h.registry != "" {
		args = append(args, "--registry-config", h.registry)
	}
	h.cmd = exec.Command(cmp.Or(h.program, binary), args...)
	h.cmd.Stderr = h.output
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := h.cmd.Start(); err != nil {
		return err
	}
	ready := make(chan struct{})
	isReady := sync.OnceFunc(func() { close(ready) }) // an upgraded program says it again
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			fmt.Fprintln(h.output, lines.Text())
			if strings.HasPrefix(lines.Text(), "Pinion is ready") {
				isReady()
			}
		}
	}()
	h.exited = make(chan error, 1)
	go func() { <-read; h.exited <- h.cmd.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	select {
	case <-ready:
		return nil
	case err := <-h.exited:
		h.exited <- err
		return fmt.Errorf("pinion up ended: %v", err)
	case <-ctx.Done():
		return fmt.Errorf("pinion up is not ready after %v", waitTimeout)
	}
}

// signalAndWait sends a signal to the pinion process alone and waits until it is gone.
func (h *host) signalAndWait(t testing.TB, sig syscall.Signal) {
	t.Helper()
	h.cmd.Process.Signal(sig)
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	select {
	case <-h.exited:
	case <-ctx.Done():
		t.Fatalf("pinion is still there %v after %v\n%s", waitTimeout, sig, h.output)
	}
}

// down takes everything of the host away and fails the test when something is left.
func (h *host) down(t testing.TB) {
	if t.Failed() {
		t.Logf("output of pinion up:\n%s", h.output)
	}
	out, err := exec.Command(binary, "--data-dir", h.dir, "down", "--purge", "--force").CombinedOutput()
	if err != nil {
		t.Errorf("pinion down --purge: %v\n%s", err, out)
	}
	if _, err := os.Stat(h.dir); err == nil {
		t.Errorf("%s is still there after pinion down --purge", h.dir)
	}
	if mounts, _ := os.ReadFile("/proc/mounts"); strings.Contains(string(mounts), h.dir) {
		t.Errorf("mounts are left under %s", h.dir)
	}
}

// pinion runs the CLI against this host and returns what it printed to standard output.
func (h *host) pinion(t testing.TB, args ...string) string {
	t.Helper()
	out, err := h.tryPinion(args...)
	if err != nil {
		t.Fatalf("pinion %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// pinionDown ends the processes of a data directory and keeps its files.
func pinionDown(dir string) *exec.Cmd {
	return exec.Command(binary, "--data-dir", dir, "down", "--force")
}

// tryPinion is pinion for commands that may fail; the error carries standard error.
func (h *host) tryPinion(args ...string) (string, error) {
	return output(exec.Command(binary, append([]string{"--data-dir", h.dir}, args...)...))
}

// env is what `eval "$(pinion env)"` makes of this process's environment.
func (h *host) env(t testing.TB) []string {
	t.Helper()
	out, err := output(exec.Command("sh", "-c", `eval "$("$0" --data-dir "$1" env)"; env -0`, binary, h.dir))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(out, "\x00"), "\x00")
}

// sh runs a shell command as a user would after `eval "$(pinion env)"`; documents' commands go in verbatim.
func (h *host) sh(t testing.TB, script string) (string, error) {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	cmd.Env = h.env(t)
	cmd.Dir = documentsDir(t)
	return output(cmd)
}

// aws runs a command line of the AWS CLI and decodes its answer.
func (h *host) aws(t testing.TB, script string) document {
	t.Helper()
	out, err := h.sh(t, script)
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return decode(t, out)
}

// document is a decoded JSON document.
type document map[string]any

func decode(t testing.TB, text string) document {
	t.Helper()
	var a document
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return a
}

// at returns the value at a path of names (objects) and numbers (lists), nil when there is none.
func (a document) at(path ...any) any {
	var v any = map[string]any(a)
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func (a document) list(path ...any) []any  { l, _ := a.at(path...).([]any); return l }
func (a document) text(path ...any) string { s, _ := a.at(path...).(string); return s }

func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), &commandError{err, stderr.String()}
	}
	return stdout.String(), nil
}

// commandError is a failed command with what it wrote to standard error.
type commandError struct {
	err    error
	stderr string
}

func (e *commandError) Error() string {
	return fmt.Sprintf("%v: %s", e.err, strings.TrimSpace(e.stderr))
}
func (e *commandError) Unwrap() error { return e.err }

// eventually polls ok until it is true; for events in another process.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("after %v still not: %s", waitTimeout, what)
		}
	}
}

// freeAddress is where nobody listens. Its port is none that the kernel gives to others while the host is being started again.
func freeAddress(t testing.TB) (address string) {
	t.Helper()
	eventually(t, "a port is free", func() bool {
		address = fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		l, err := net.Listen("tcp", address)
		return err == nil && l.Close() == nil
	})
	return address
}
