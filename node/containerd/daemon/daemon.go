// Package daemon runs and supervises a containerd of Pinion's own.
package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pinion/packaging/backoff"
)

// Config names the binaries and the directory of a containerd. All fields are required.
type Config struct {
	Containerd, Shim, Runc string // paths of the binaries
	Dir                    string // holds root, state, socket, configuration and log; created if it is missing
	Log                    *slog.Logger
}

const (
	startTimeout      = 30 * time.Second       // from the start of containerd to its first answer
	stopTimeout       = 10 * time.Second       // from SIGTERM to SIGKILL
	respawnResetAfter = 30 * time.Second       // a daemon with a longer life is restarted without delay
	respawnMin        = 100 * time.Millisecond // first delay after a daemon with a shorter life
	respawnMax        = 5 * time.Second
	socketName        = "containerd.sock"
	configName        = "config.toml"
	pidName           = "containerd.pid"
	logName           = "containerd.log"
)

// Daemon is a supervised containerd: it is restarted when it dies. The process and its tasks survive the end of Pinion,
// however it ends; the next Start with the same directory takes over the running daemon.
type Daemon struct {
	config      Config
	snapshotter string
	spawned     bool               // Start found none that runs
	cancel      context.CancelFunc // ends the supervision
	supervision sync.WaitGroup

	mu      sync.Mutex
	current *process
}

// Start takes over the daemon that runs in c.Dir, or starts one, and returns when it answers. A running daemon of another
// version or with another configuration is replaced; tasks run on undisturbed.
func Start(ctx context.Context, c Config) (*Daemon, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("containerd: %w", err)
	}
	c.Dir = dir
	if err := os.MkdirAll(c.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("containerd: %w", err)
	}
	d := &Daemon{config: c}
	var warning string
	if d.snapshotter, warning = chooseSnapshotter(c.Dir); warning != "" {
		c.Log.Warn("containerd: " + warning)
	}
	changed, err := writeConfig(c, d.snapshotter)
	if err != nil {
		return nil, fmt.Errorf("containerd: %w", err)
	}
	if d.current, err = d.takeOver(ctx, changed); err != nil {
		return nil, err
	}
	if d.current == nil {
		if d.current, err = d.spawn(ctx); err != nil {
			return nil, err
		}
		d.spawned = true
	}
	supervised, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.cancel = cancel
	d.supervision.Go(func() { d.supervise(supervised) })
	d.supervision.Go(func() { d.boundLog(supervised) })
	return d, nil
}

// Address is the path of the daemon's socket.
func (d *Daemon) Address() string { return Socket(d.config.Dir) }

// Socket is the path of the socket of the daemon with a directory, whether it runs or not.
func Socket(dir string) string { return filepath.Join(dir, socketName) }

// Snapshotter is the snapshotter in the daemon's configuration: overlayfs, or native where overlayfs does not work.
func (d *Daemon) Snapshotter() string { return d.snapshotter }

// Abandon ends the supervision, and the daemon too if Start has started it: for a host that comes to nothing.
func (d *Daemon) Abandon() error {
	if !d.spawned {
		return d.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return d.Stop(ctx)
}

// Close ends the supervision: the daemon and its tasks run on.
func (d *Daemon) Close() error {
	d.cancel()
	d.supervision.Wait()
	return nil
}

// Stop ends the supervision and the daemon; its tasks run on. It sends SIGTERM first, and SIGKILL after ten seconds or when
// ctx ends.
func (d *Daemon) Stop(ctx context.Context) error {
	d.Close()
	if err := d.current.stop(ctx, stopTimeout); err != nil {
		return fmt.Errorf("stop containerd (pid %d): %w", d.current.pid, err)
	}
	os.Remove(filepath.Join(d.config.Dir, pidName)) // without the pid file, a running daemon is found by its socket
	return nil
}

// supervise restarts the daemon whenever it dies: at once after a long life, otherwise after a delay that doubles.
func (d *Daemon) supervise(ctx context.Context) {
	pause, delays := time.Duration(0), backoff.Backoff{Min: respawnMin, Max: respawnMax}
	for {
		born := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-d.current.exited:
		}
		if time.Since(born) > respawnResetAfter {
			pause = 0
			delays.Reset()
		}
		d.config.Log.Error("containerd died; starting it again, tasks run on", "pid", d.current.pid, "retryIn", pause)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = delays.Next()
			next, err := d.spawn(ctx)
			if err == nil {
				d.config.Log.Info("containerd is back", "pid", next.pid)
				d.mu.Lock()
				d.current = next
				d.mu.Unlock()
				break
			}
			d.config.Log.Error("containerd does not start; trying again", "error", err, "retryIn", pause)
		}
	}
}
