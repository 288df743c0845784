package containerd_test

import (
	"net"

	"golang.org/x/sys/unix"
)

// daemonPID is the process id of the daemon that listens now; it changes when the daemon had to be started again.
func (h *host) daemonPID() int {
	h.t.Helper()
	for ctx := h.ctx(); ctx.Err() == nil; {
		if pid := socketOwner(h.daemon.Address()); pid > 0 {
			return pid
		}
	}
	h.t.Fatal("no daemon listens")
	return 0
}

// socketOwner is 0 while nobody listens.
func socketOwner(path string) (pid int) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return 0
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) {
		if owner, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(owner.Pid)
		}
	})
	return pid
}
