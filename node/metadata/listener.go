package metadata

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// address and port are where the endpoint is; containers are told both. The port is that of Amazon's agent: one that listens at an address of a port keeps
// all others from listening at every address of it, and 80 is what containers listen at themselves.
const (
	address = "169.254.170.2"
	port    = "51679"
)

// hostPort is the address and port of the endpoint.
var hostPort = net.JoinHostPort(address, port)

// listen opens the endpoint in the network namespace at a path; in that of the host when it is empty.
func listen(namespace string) (net.Listener, error) {
	type opened struct {
		listener net.Listener
		err      error
	}
	done := make(chan opened, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine, and nothing else runs in the namespace
		var o opened
		if namespace != "" {
			o.err = enter(namespace)
		}
		if o.err == nil {
			o.listener, o.err = listenHere()
		}
		done <- o
	}()
	o := <-done
	if o.err != nil {
		return nil, fmt.Errorf("open the task metadata endpoint at %s: %w", address, o.err)
	}
	return o.listener, nil
}

// listenHere opens the endpoint in the network namespace of this thread, for what comes over its loopback interface alone: Linux takes packets for any
// address of a host from every interface.
func listenHere() (net.Listener, error) {
	added, err := addAddress()
	if err != nil {
		return nil, err
	}
	config := net.ListenConfig{Control: func(_, _ string, socket syscall.RawConn) error {
		var bound error
		err := socket.Control(func(fd uintptr) { bound = unix.BindToDevice(int(fd), "lo") })
		return errors.Join(err, bound)
	}}
	listener, err := config.Listen(context.Background(), "tcp4", hostPort)
	if err != nil && added {
		err = errors.Join(err, removeAddress())
	}
	return listener, err
}

func enter(namespace string) error {
	handle, err := netns.GetFromPath(namespace)
	if err != nil {
		return err
	}
	return errors.Join(netns.Set(handle), handle.Close())
}

// addAddress gives the loopback interface of this namespace the address, unless it has it.
func addAddress() (added bool, err error) {
	loopback, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(loopback)
	}
	if err != nil {
		return false, err
	}
	own, err := netlink.ParseAddr(address + "/32")
	if err != nil {
		return false, err
	}
	own.Scope = unix.RT_SCOPE_HOST
	err = netlink.AddrAdd(loopback, own)
	if errors.Is(err, unix.EEXIST) {
		return false, nil
	}
	return err == nil, err
}

// CleanUp takes the address from the host that a process has left there which was killed, unless another one listens there.
func CleanUp() error {
	listener, err := net.Listen("tcp4", hostPort)
	if err != nil {
		return nil // the host has no such address, or it is in use
	}
	return errors.Join(listener.Close(), removeAddress())
}

// removeAddress takes the address from the host.
func removeAddress() error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	own, err := netlink.ParseAddr(address + "/32")
	if err != nil {
		return err
	}
	own.Scope = unix.RT_SCOPE_HOST
	return netlink.AddrDel(loopback, own)
}
