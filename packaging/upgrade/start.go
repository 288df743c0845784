package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"pinion/api/upgrade"
)

// restartSignal has a host end orderly and start again in the same process, with the program that is in its place by then.
const restartSignal = syscall.SIGUSR2

// ErrRestart is the cause with which the context of a host ends that is started anew in its process.
var ErrRestart = errors.New("pinion is started anew")

// Restartable runs a host whose program may be exchanged. A new program that starts for the second time without having been ready before is
// replaced by the previous one. It returns when the host has ended; after restartSignal it does not return, unless the program cannot be started. What the host
// listens on by the sockets stays open then, if the next program takes them over.
func Restartable(ctx context.Context, dataDir string, up func(context.Context, *Sockets) error) error {
	sockets := inherit(dataDir)
	self, err := os.Executable() // as it was when this process started, wherever the file is now
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	back, err := begin(dataDir, self)
	if err != nil {
		return err
	}
	if back {
		return execute(self, sockets.forward())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	restarts := make(chan os.Signal, 1)
	signal.Notify(restarts, restartSignal)
	defer signal.Stop(restarts)
	go func() {
		select {
		case <-restarts:
			if a, err := read(dataDir); err == nil && a != nil && a.State == upgrade.Checking && a.Binary == self && a.Inherits {
				sockets.persist()
			}
			cancel(ErrRestart)
		case <-ctx.Done():
		}
	}()
	if err := up(ctx, sockets); err != nil || !errors.Is(context.Cause(ctx), ErrRestart) {
		return err
	}
	return execute(self, sockets.pass())
}

// execute starts the program at the path in this process, with the same arguments, and the same environment and what is added to it.
func execute(path string, added []string) error {
	return fmt.Errorf("starting %s: %w", path, syscall.Exec(path, os.Args, append(os.Environ(), added...)))
}

// begin is the start of the program self: it counts the starts of a new one, and puts the previous one in its place at the second. True: that is to
// be started instead.
func begin(dataDir, self string) (back bool, err error) {
	a, err := read(dataDir)
	if err != nil || a == nil || a.State != upgrade.Checking || a.Binary != self {
		return false, err
	}
	if other, err := running(dataDir); err == nil && other != nil && other.pid != os.Getpid() {
		return false, nil // this process does not come to be the host: the lock of the directory is another one's
	}
	digest, err := digestOf(self)
	switch {
	case err != nil:
		return false, fmt.Errorf("the upgrade to %s: %w", a.To.Version, err)
	case digest == a.From.Digest:
		return false, end(dataDir, a, upgrade.RolledBack, "the upgrade was interrupted before "+a.To.Version+" was in place")
	case digest != a.To.Digest:
		return false, end(dataDir, a, upgrade.Abandoned, "another program was put in its place meanwhile")
	case a.Starts > 0:
		err := restore(dataDir, a, a.To.Version+" ended before the host was ready")
		if errors.Is(err, errNothingToRestore) { // the new program is better than none
			return false, end(dataDir, a, upgrade.Abandoned, err.Error())
		}
		return true, err
	}
	a.Starts++
	return false, write(dataDir, a)
}

// Confirm records that the host with this process is ready: it has joined its pool and taken up its tasks. It does nothing when this program is not a new
// one that waits for it.
func Confirm(dataDir string) error {
	a, err := read(dataDir)
	if err != nil || a == nil || a.State != upgrade.Checking {
		return err
	}
	running, err := digestOf("/proc/self/exe")
	if err != nil || running != a.To.Digest {
		return err
	}
	return end(dataDir, a, upgrade.Confirmed, "")
}
