package daemon

import (
	"context"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a daemon process, our child or one that an earlier Pinion started.
type process struct {
	pid    int
	handle *os.File      // pidfd: signals reach this process only, never a later process with the same pid
	exited chan struct{} // closed when the process has exited
}

// watchChild watches a command that was started here.
func watchChild(cmd *exec.Cmd) *process {
	p := &process{pid: cmd.Process.Pid, exited: make(chan struct{})}
	if fd, err := unix.PidfdOpen(p.pid, unix.PIDFD_NONBLOCK); err == nil {
		p.handle = os.NewFile(uintptr(fd), "pidfd")
	}
	go func() {
		cmd.Wait()
		close(p.exited)
	}()
	return p
}

// watchPID watches a process that is not a child of this one.
func watchPID(pid int) (*process, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	p := &process{pid: pid, handle: os.NewFile(uintptr(fd), "pidfd"), exited: make(chan struct{})}
	raw, err := p.handle.SyscallConn()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(p.exited)
		raw.Read(func(fd uintptr) bool { // a pidfd becomes readable when the process ends
			ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return ready > 0 || (err != nil && err != unix.EINTR)
		})
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // it is a child of this process if a program before has started it here
	}()
	return p, nil
}

func (p *process) signal(sig syscall.Signal) error {
	raw, err := p.handle.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), sig, nil, 0) }); err != nil {
		return err
	}
	if sent == unix.ESRCH {
		return nil
	}
	return sent
}

// kill sends SIGKILL and waits until the process has exited.
func (p *process) kill() {
	if p.signal(syscall.SIGKILL) == nil {
		<-p.exited
	}
}

// stop sends SIGTERM, and SIGKILL after the timeout or when ctx ends.
func (p *process) stop(ctx context.Context, timeout time.Duration) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
	case <-time.After(timeout):
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.exited
	return nil
}

// SocketOwner returns the pid of the process that listens on a unix socket, 0 when there is none.
func SocketOwner(path string) int {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return 0
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	raw.Control(func(fd uintptr) {
		if owner, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(owner.Pid)
		}
	})
	return pid
}
