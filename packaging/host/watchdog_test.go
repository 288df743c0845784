package host

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"pinion/packaging/sdnotify"
	"pinion/packaging/sdnotify/sdnotifytest"
	"pinion/packaging/upgrade"
)

func TestAHostTellsSystemdHowItIs(t *testing.T) {
	dir, socket := newDataDir(t), sdnotifytest.Listen(t)
	t.Setenv("WATCHDOG_USEC", "1000000")
	t.Setenv("WATCHDOG_PID", "")
	os.Unsetenv("WATCHDOG_PID")
	end := startHost(t, dir)
	for _, told := range []string{"EXTEND_TIMEOUT_USEC=", "STATUS=", "READY=1", "WATCHDOG=1"} {
		socket.Await(told, time.Minute)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	socket.Await("STOPPING=1", time.Minute)
}

// A host that is started anew in its process does not tell systemd that it stops: systemd would end the process after a while.
func TestAHostThatIsStartedAnewDoesNotStop(t *testing.T) {
	for want, cause := range map[string]error{"RELOADING=1": upgrade.ErrRestart, "STOPPING=1": context.Canceled} {
		socket := sdnotifytest.Listen(t)
		service := sdnotify.Starting(t.Context(), slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		tellEnd(ctx, service)
		socket.Await("EXTEND_TIMEOUT_USEC=", time.Minute)
		if heard := socket.Next(time.Minute); !strings.HasPrefix(heard, want) {
			t.Errorf("%v: systemd heard %q", cause, heard)
		}
	}
}
