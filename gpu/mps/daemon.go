package mps

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// startTimeout bounds how long a daemon takes to serve.
const startTimeout = 10 * time.Second

// Daemon is a control daemon that runs for one GPU.
type Daemon struct {
	Control
	process *exec.Cmd
	exited  chan struct{} // closed when it has ended
	err     error         // why; to be read when exited is closed
}

// Start runs a control daemon that sees the GPU alone, and returns when it serves. One that does not is killed. It ends with this process; whoever
// starts it sets the GPU's compute mode to EXCLUSIVE_PROCESS before, so that no container goes around it.
func Start(ctx context.Context, c Control, uuid string) (*Daemon, error) {
	for _, dir := range []string{c.PipeDir(), c.logDir()} {
		if err := os.RemoveAll(dir); err != nil { // the pipes of a daemon that is gone
			return nil, fmt.Errorf("MPS of GPU %s: %w", uuid, err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("MPS of GPU %s: %w", uuid, err)
		}
	}
	d := &Daemon{Control: c, process: exec.Command(c.Program, "-f"), exited: make(chan struct{})}
	d.process.Env = c.environment("CUDA_VISIBLE_DEVICES=" + uuid)
	d.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := d.process.Start(); err != nil {
		return nil, fmt.Errorf("MPS of GPU %s: %w", uuid, err)
	}
	go func() {
		d.err = d.process.Wait()
		close(d.exited)
	}()
	if err := d.waitServing(ctx); err != nil {
		d.kill()
		return nil, fmt.Errorf("MPS of GPU %s: %w", uuid, err)
	}
	return d, nil
}

// waitServing returns when the daemon serves, or why it will not: it has ended, it hangs, or it takes too long.
func (d *Daemon) waitServing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		found, why := d.Probe(ctx)
		if found == Serving {
			return nil
		}
		if found == Wedged {
			return fmt.Errorf("the control daemon is %s: %s", found, why)
		}
		select {
		case <-d.exited:
			return fmt.Errorf("the control daemon has ended: %v", d.err)
		case <-ctx.Done():
			return fmt.Errorf("the control daemon is %s: %s", found, why)
		case <-time.After(probeDelay):
		}
	}
}

// Exited is closed when the daemon has ended, with Stop or by itself.
func (d *Daemon) Exited() <-chan struct{} { return d.exited }

// Err is why the daemon has ended; nil while it runs and after a clean end.
func (d *Daemon) Err() error {
	select {
	case <-d.exited:
		return d.err
	default:
		return nil
	}
}

// Stop ends the daemon: it is asked to quit, and killed when it does not answer. Its clients have ended before, or end with it.
func (d *Daemon) Stop(ctx context.Context) {
	if _, err := d.Do(ctx, "quit"); err != nil {
		d.kill()
		return
	}
	select {
	case <-d.exited:
	case <-ctx.Done():
		d.kill()
	}
}

// kill ends the daemon and the servers that it has started.
func (d *Daemon) kill() {
	syscall.Kill(-d.process.Process.Pid, syscall.SIGKILL)
	<-d.exited
}
