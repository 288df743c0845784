package host

import (
	"os"
	"testing"
	"time"

	"pinion/packaging/sdnotify/sdnotifytest"
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
