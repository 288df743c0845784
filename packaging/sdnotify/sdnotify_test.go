package sdnotify

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/packaging/sdnotify/sdnotifytest"
)

// patience is longer than a machine under load holds up a goroutine.
const patience = 30 * time.Second

// watched is a service with a watchdog of 400 ms, which asks alive. The socket is what systemd hears.
func watched(t *testing.T, alive func(context.Context) error) *sdnotifytest.Socket {
	t.Helper()
	socket := sdnotifytest.Listen(t)
	t.Setenv("WATCHDOG_USEC", "400000")
	t.Setenv("WATCHDOG_PID", "")
	os.Unsetenv("WATCHDOG_PID")
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { Starting(ctx, slog.New(slog.DiscardHandler)).Watch(ctx, alive) })
	t.Cleanup(func() { cancel(); watching.Wait() })
	return socket
}

func TestAStartThatGoesOnIsNotTakenForAHungOne(t *testing.T) {
	socket := sdnotifytest.Listen(t)
	service := Starting(t.Context(), slog.New(slog.DiscardHandler))
	service.Status("joins the pool")
	service.Ready()
	service.Stopping()
	for _, want := range []string{"EXTEND_TIMEOUT_USEC=", "STATUS=joins the pool", "READY=1", "STOPPING=1"} {
		if got := socket.Next(patience); !strings.HasPrefix(got, want) {
			t.Errorf("systemd heard %q, want %s", got, want)
		}
	}
}

// TestAHungLockStarvesTheWatchdog holds the lock that the service takes to show that it lives, as a deadlock does.
func TestAHungLockStarvesTheWatchdog(t *testing.T) {
	var lock sync.Mutex
	socket := watched(t, func(context.Context) error {
		lock.Lock()
		defer lock.Unlock()
		return nil
	})
	socket.Await("WATCHDOG=1", patience)
	lock.Lock()
	socket.Drain()
	heard := socket.Next(time.Second)
	if heard != "" { // what it had begun to tell before
		heard = socket.Next(time.Second)
	}
	lock.Unlock()
	if heard != "" {
		t.Errorf("systemd heard %q of a service that hangs", heard)
	}
	socket.Await("WATCHDOG=1", patience)
}

func TestAServiceThatFailsStarvesTheWatchdog(t *testing.T) {
	var failing atomic.Bool
	failing.Store(true)
	socket := watched(t, func(context.Context) error {
		if failing.Load() {
			return errors.New("no answer")
		}
		return nil
	})
	socket.Await("EXTEND_TIMEOUT_USEC=", patience)
	if heard := socket.Next(time.Second); heard != "" {
		t.Errorf("systemd heard %q of a service that fails", heard)
	}
	failing.Store(false)
	socket.Await("WATCHDOG=1", patience)
}

func TestWithoutSystemdNothingIsTold(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	service := Starting(t.Context(), slog.New(slog.DiscardHandler))
	service.Ready()
	service.Watch(t.Context(), func(context.Context) error { t.Error("it is watched"); return nil })
}
