package upgrade

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a `pinion up` that runs.
type process struct {
	pid     int
	started string // when, as /proc has it: another process with the same pid has another time
	binary  string // absolute path of its program
	args    []string
	env     []string // may hold secrets: it never goes to the disk
	dir     string
	systemd bool // systemd starts it again when it was killed
}

// lockFile is the file of the data directory that the host has open and locked, and that names its process.
const lockFile = "lock"

// running finds the process of a data directory, which has its lock open; nil when there is none. The lock is not tried: a host that starts must
// find it free.
func running(dataDir string) (*process, error) {
	dataDir, err := filepath.EvalSymlinks(dataDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dataDir, lockFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || !hasOpen(pid, path) {
		return nil, nil
	}
	return describe(pid)
}

// hasOpen reports whether a process has a file open.
func hasOpen(pid int, path string) bool {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return err == nil && slices.ContainsFunc(fds, func(fd string) bool {
		to, err := os.Readlink(fd)
		return err == nil && to == path
	})
}

// describe reads what a process was started with.
func describe(pid int) (*process, error) {
	of := func(name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
	p := &process{pid: pid}
	args, err := os.ReadFile(of("cmdline"))
	env, envErr := os.ReadFile(of("environ"))
	if err = errors.Join(err, envErr); err != nil {
		return nil, err
	}
	p.args, p.env = fields(args), fields(env)
	if p.dir, err = os.Readlink(of("cwd")); err != nil {
		return nil, err
	}
	if p.binary, err = os.Readlink(of("exe")); err != nil {
		return nil, err
	}
	now, err := status(pid)
	if err != nil {
		return nil, err
	}
	p.started = now.started
	p.systemd = now.parent == "1" && slices.ContainsFunc(p.env, func(v string) bool { return strings.HasPrefix(v, "INVOCATION_ID=") })
	return p, nil
}

// fields are the words of a file of /proc, each ended by a zero.
func fields(text []byte) (words []string) {
	for word := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte{0}), []byte{0}) {
		words = append(words, string(word))
	}
	return words
}

// stat is the part of /proc/PID/stat that is read.
type stat struct{ state, parent, threads, started string }

func status(pid int) (s stat, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, err
	}
	const threads, startTime = 17, 19 // the 20th and the 22nd of proc(5), counted behind the name, which may have blanks
	words := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(words) <= startTime {
		return s, fmt.Errorf("/proc/%d/stat is not understood", pid)
	}
	return stat{words[0], words[1], words[threads], words[startTime]}, nil
}

// alive reports whether the process is there and has not ended. One that starts another program from a thread looks as if it had ended until the thread has
// taken its place, which may be long on a busy machine: its first thread has ended, and it has another one.
func (p *process) alive() bool {
	now, err := status(p.pid)
	return err == nil && (now.state != "Z" || now.threads != "1") && now.started == p.started
}

// killPatience bounds the wait for a process to end after SIGKILL.
const killPatience = 10 * time.Second

// kill ends the process with SIGKILL: with another signal it could end well, and systemd would not start it again.
func (p *process) kill() error {
	if !p.alive() {
		return nil
	}
	if err := unix.Kill(p.pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("ending pinion (process %d): %w", p.pid, err)
	}
	for waited := time.Duration(0); p.alive(); waited += poll {
		if waited > killPatience {
			return fmt.Errorf("pinion (process %d) has not ended %s after SIGKILL", p.pid, killPatience)
		}
		time.Sleep(poll)
	}
	return nil
}

// start starts the program again as the process was, in a session of its own.
func (p *process) start(stdout, stderr *os.File) error {
	cmd := exec.Command(p.binary)
	cmd.Args, cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.args, p.env, p.dir, stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.binary, err)
	}
	return cmd.Process.Release()
}

// output opens what a process writes to; nil when it cannot be opened, as a socket.
func (p *process) output(fd int) *os.File {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", p.pid, fd), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil
	}
	return f
}
