package machine

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// BootClock measures time since the machine was started. No step of the wall clock moves it, it goes on while Pinion is not
// running and while the machine sleeps, and it begins anew with each boot.
type BootClock struct {
	ID    string               // of this boot: a reading of another boot says nothing
	Since func() time.Duration // since the boot
}

// Boot is the clock of this machine. Its ID is empty where the kernel does not tell.
func Boot() BootClock {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return BootClock{ID: strings.TrimSpace(string(id)), Since: sinceBoot}
}

func sinceBoot() time.Duration {
	var at unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &at) // it fails for unknown clocks only, and Linux 2.6.39 has this one
	return time.Duration(at.Nano())
}
