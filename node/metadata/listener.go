package metadata

import (
	"errors"
	"fmt"
	"net"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// address is where Amazon's SDKs and agents of others look for the endpoint.
const address = "169.254.170.2"

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
			o.err = addAddress()
		}
		if o.err == nil {
			o.listener, o.err = net.Listen("tcp4", net.JoinHostPort(address, "80"))
		}
		done <- o
	}()
	o := <-done
	if o.err != nil {
		return nil, fmt.Errorf("open the task metadata endpoint at %s: %w", address, o.err)
	}
	return o.listener, nil
}

func enter(namespace string) error {
	handle, err := netns.GetFromPath(namespace)
	if err != nil {
		return err
	}
	return errors.Join(netns.Set(handle), handle.Close())
}

// addAddress gives the loopback interface of this namespace the address.
func addAddress() error {
	loopback, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(loopback)
	}
	if err != nil {
		return err
	}
	own, err := netlink.ParseAddr(address + "/32")
	if err != nil {
		return err
	}
	own.Scope = unix.RT_SCOPE_HOST
	return netlink.AddrReplace(loopback, own)
}

// CleanUp takes the address from the host that a process has left there which was killed, unless another one listens there.
func CleanUp() error {
	listener, err := net.Listen("tcp4", net.JoinHostPort(address, "80"))
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
