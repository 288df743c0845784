package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
)

// maxLog is the size above which the daemon's log is rotated.
const maxLog = 16 << 20

// spawn starts containerd in a session of its own and waits until it answers.
func (d *Daemon) spawn(ctx context.Context) (*process, error) {
	if err := sweepSnapshots(ctx, filepath.Join(d.config.Dir, "root"), d.snapshotter); err != nil {
		return nil, fmt.Errorf("containerd: %w", err)
	}
	log, err := openLog(filepath.Join(d.config.Dir, logName))
	if err != nil {
		return nil, fmt.Errorf("containerd: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(d.config.Containerd, "--config", filepath.Join(d.config.Dir, configName))
	cmd.Dir = d.config.Dir
	cmd.Env = environment(d.config)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	start, _ := log.Seek(0, io.SeekEnd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("containerd: %w", err)
	}
	p := watchChild(cmd)
	if err := os.WriteFile(filepath.Join(d.config.Dir, pidName), strconv.AppendInt(nil, int64(p.pid), 10), 0o600); err != nil {
		p.kill()
		return nil, fmt.Errorf("containerd: %w", err)
	}
	if err := d.waitServing(ctx, p); err != nil {
		p.kill()
		return nil, fmt.Errorf("containerd does not come up: %w%s", err, logTail(log.Name(), start))
	}
	return p, nil
}

// environment keeps the daemon small; its shims inherit it. Pinion's own environment is not passed on.
func environment(c Config) []string {
	path := []string{filepath.Dir(c.Shim), filepath.Dir(c.Runc), "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
	env := []string{"PATH=" + strings.Join(path, ":"), "GOGC=50", "GOMEMLIMIT=48MiB"}
	for _, name := range []string{"HOME", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// waitServing waits until the socket answers, the process exits, or the timeout is over.
func (d *Daemon) waitServing(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client, err := containerd.New(d.Address(), DialOptions())
	if err != nil {
		return err
	}
	defer client.Close()
	serving := make(chan error, 1)
	go func() {
		_, err := client.IsServing(ctx)
		serving <- err
	}()
	select {
	case err := <-serving:
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("no answer on %s within %v", d.Address(), startTimeout)
		}
		return err
	case <-p.exited:
		return fmt.Errorf("it ended at once")
	}
}

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

// boundLog rotates the daemon's log when it is too large, until ctx ends.
func (d *Daemon) boundLog(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := truncateLog(filepath.Join(d.config.Dir, logName)); err != nil {
				d.config.Log.Warn("the log of containerd grows", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// truncateLog copies a log that is too large to the rotated one and empties it: the daemon, which appends, goes on writing to the
// same file.
func truncateLog(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= maxLog {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path+".1", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(to, io.NewSectionReader(from, info.Size()-maxLog, maxLog), maxLog)
	return errors.Join(err, to.Close(), os.Truncate(path, 0))
}

// logTail returns the end of the log since the start, for an error message.
func logTail(path string, start int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const enough = 2 << 10
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	raw := make([]byte, enough)
	n, _ := f.ReadAt(raw, max(start, info.Size()-enough))
	text := bytes.TrimSpace(raw[:n])
	if len(text) == 0 {
		return "; it logged nothing, see " + path
	}
	return "; it logged: " + string(text)
}

// takeOver takes over a running daemon; nil when there is none. A daemon with another configuration or binary is stopped
// first.
func (d *Daemon) takeOver(ctx context.Context, changed bool) (*process, error) {
	pid := d.findRunning()
	if pid == 0 {
		return nil, nil
	}
	p, err := watchPID(pid)
	if err != nil {
		return nil, nil // it just ended
	}
	exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if !changed && sameFile(exe, d.config.Containerd) {
		if err = d.waitServing(ctx, p); err == nil {
			d.config.Log.Info("containerd runs already", "pid", pid)
			return p, nil
		}
	}
	d.config.Log.Info("replacing the running containerd", "pid", pid, "binary", exe, "configurationChanged", changed, "error", err)
	if err := p.stop(ctx, stopTimeout); err != nil {
		return nil, fmt.Errorf("containerd (pid %d) runs in %s and cannot be replaced: %w", pid, d.config.Dir, err)
	}
	return nil, nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// findRunning returns the pid of this directory's daemon: the owner of the socket, or, while the socket does not answer,
// the pid in the pid file. The process must be a containerd that was started with our configuration file.
func (d *Daemon) findRunning() int {
	candidates := []int{SocketOwner(d.Address())}
	if raw, err := os.ReadFile(filepath.Join(d.config.Dir, pidName)); err == nil {
		pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
		candidates = append(candidates, pid)
	}
	for _, pid := range candidates {
		if pid > 0 && d.hasOurConfig(pid) {
			return pid
		}
	}
	return 0
}

func (d *Daemon) hasOurConfig(pid int) bool {
	exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil || filepath.Base(strings.TrimSuffix(exe, " (deleted)")) != filepath.Base(d.config.Containerd) {
		return false
	}
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	args := strings.Split(string(raw), "\x00")
	return err == nil && len(args) > 2 && args[1] == "--config" && args[2] == filepath.Join(d.config.Dir, configName)
}
