package upgrade

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// keeper has second descriptors of the listening sockets of a host while its program is exchanged: a new program that ends before the host is ready takes
// its own with it, and those who wait to be accepted are cut off. The guard has one. A host hands its sockets over before the next program is started, and
// a host whose process is another one, as it is when the previous program is put back, fetches them. nil has none.
type keeper struct {
	listener *net.UnixListener
	fetched  chan struct{} // closed when a host has fetched them

	mu   sync.Mutex
	open map[int]int // descriptors by port
}

const (
	keeperSocket  = "upgrade.sock" // in the data directory
	keeperTimeout = 5 * time.Second
	// maxKept is how many descriptors one message may carry, less than the 253 of Linux. Ports beyond are refused for a while, as without a keeper.
	maxKept = 250
	// fetch is the message that asks for the sockets. Every other one has the ports of those that come with it.
	fetch = "fetch"
	taken = "taken"
)

// keep makes the keeper of a data directory.
func keep(dataDir string) (*keeper, error) {
	path := filepath.Join(dataDir, keeperSocket)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	k := &keeper{listener: listener, fetched: make(chan struct{}), open: map[int]int{}}
	go k.serve(sync.OnceFunc(func() { close(k.fetched) }))
	return k, nil
}

func (k *keeper) serve(fetched func()) {
	for {
		conn, err := k.listener.AcceptUnix()
		if err != nil {
			return
		}
		if message, fds, err := receive(conn); err == nil && message == fetch {
			if k.answer(conn) == nil {
				fetched()
			}
		} else if err == nil && k.take(message, fds) == nil {
			_, _ = conn.Write([]byte(taken)) // a host that is gone needs no word
		}
		conn.Close()
	}
}

// take takes the sockets of a host.
func (k *keeper) take(message string, fds []int) error {
	ports, err := portsOf(message, fds)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	closeAll(k.open)
	for i, port := range ports {
		k.open[port] = fds[i]
	}
	return nil
}

// answer sends the sockets to a host.
func (k *keeper) answer(conn *net.UnixConn) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return send(conn, k.open)
}

// awaitFetch waits until a host has fetched the sockets, for a time.
func (k *keeper) awaitFetch(limit time.Duration) {
	if k == nil {
		return
	}
	k.mu.Lock()
	some := len(k.open) > 0
	k.mu.Unlock()
	if !some {
		return
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-k.fetched:
	case <-late.C:
	}
}

// close closes the sockets, which stay open where a host has them.
func (k *keeper) close() {
	if k == nil {
		return
	}
	k.listener.Close()
	k.mu.Lock()
	defer k.mu.Unlock()
	closeAll(k.open)
}

// handOver gives second descriptors of sockets to the keeper of a data directory, if there is one.
func handOver(dataDir string, sockets map[int]int) error {
	conn, err := dialKeeper(dataDir)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := send(conn, sockets); err != nil {
		return err
	}
	message, _, err := receive(conn)
	if err == nil && message != taken {
		err = fmt.Errorf("the guard answers %q", message)
	}
	return err
}

// fetchKept gets the sockets of the keeper of a data directory, by port.
func fetchKept(dataDir string) (sockets map[int]int, err error) {
	conn, err := dialKeeper(dataDir)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(fetch)); err != nil {
		return nil, err
	}
	message, fds, err := receive(conn)
	if err != nil {
		return nil, err
	}
	ports, err := portsOf(message, fds)
	if err != nil {
		return nil, err
	}
	sockets = map[int]int{}
	for i, port := range ports {
		sockets[port] = fds[i]
	}
	return sockets, nil
}

func dialKeeper(dataDir string) (*net.UnixConn, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(dataDir, keeperSocket), Net: "unix"})
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(keeperTimeout))
}

// send sends sockets with their ports.
func send(conn *net.UnixConn, sockets map[int]int) error {
	ports := slices.Sorted(maps.Keys(sockets))
	ports = ports[:min(len(ports), maxKept)]
	fds := make([]int, len(ports))
	for i, port := range ports {
		fds[i] = sockets[port]
	}
	message, err := json.Marshal(ports)
	if err != nil {
		return err
	}
	_, _, err = conn.WriteMsgUnix(message, unix.UnixRights(fds...), nil)
	return err
}

// receive reads one message, and the descriptors that come with it.
func receive(conn *net.UnixConn) (message string, fds []int, err error) {
	_ = conn.SetDeadline(time.Now().Add(keeperTimeout))
	text, rights := make([]byte, 16*maxKept), make([]byte, unix.CmsgSpace(4*maxKept))
	n, m, _, _, err := conn.ReadMsgUnix(text, rights)
	if err != nil {
		return "", nil, err
	}
	control, err := unix.ParseSocketControlMessage(rights[:m])
	for i := range control {
		got, rightsErr := unix.ParseUnixRights(&control[i])
		fds, err = append(fds, got...), errors.Join(err, rightsErr)
	}
	return string(text[:n]), fds, err
}

// portsOf are the ports of sockets that came with a message; the sockets are closed when they are not as many.
func portsOf(message string, fds []int) (ports []int, err error) {
	if err = json.Unmarshal([]byte(message), &ports); err == nil && len(ports) != len(fds) {
		err = fmt.Errorf("%d sockets came for %d ports", len(fds), len(ports))
	}
	if err != nil {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
	return ports, err
}

// closeAll closes sockets, and forgets them.
func closeAll(sockets map[int]int) {
	for _, fd := range sockets {
		unix.Close(fd)
	}
	clear(sockets)
}
