package upgrade

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Sockets are the listening sockets of a host that stay open while its program is exchanged in its process. Clients that connect meanwhile wait in the queue of the
// kernel until the new program accepts them; without that they are refused. A process that the guard or systemd has started has those of the guard. It is safe for
// concurrent use; nil opens every port by itself.
type Sockets struct {
	dataDir string

	mu        sync.Mutex
	inherited map[int]int // descriptors by port, until somebody listens there
	open      map[int]int // second descriptors of the sockets that somebody listens on, by port
	keeping   bool        // the program is being exchanged: they stay
}

// socketsVariable names the inherited sockets of a program: the process that they are for, and PORT=DESCRIPTOR for each socket, with blanks between.
// Another process that gets the variable, which has other files at the descriptors, takes none.
const socketsVariable = "PINION_LISTENERS"

// inherit takes the sockets over that the previous program has left in this process, or with the guard of the data directory.
func inherit(dataDir string) *Sockets {
	s := &Sockets{dataDir: dataDir, inherited: map[int]int{}, open: map[int]int{}}
	words := strings.Fields(os.Getenv(socketsVariable))
	os.Unsetenv(socketsVariable)
	if len(words) == 0 || words[0] != strconv.Itoa(os.Getpid()) {
		if kept, err := fetchKept(dataDir); err == nil { // else there is no guard
			s.inherited = kept
		}
		return s
	}
	for _, word := range words[1:] {
		var port, fd int
		if n, err := fmt.Sscanf(word, "%d=%d", &port, &fd); n == 2 && err == nil && fd > 2 {
			unix.CloseOnExec(fd)
			s.inherited[port] = fd
		}
	}
	return s
}

// Listen is net.Listen at a port of all addresses, with the socket of the previous program if there is one.
func (s *Sockets) Listen(port int) (net.Listener, error) {
	if s == nil {
		return net.Listen("tcp", ":"+strconv.Itoa(port))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	opened := s.take(port)
	if opened == nil {
		var err error
		if opened, err = net.Listen("tcp", ":"+strconv.Itoa(port)); err != nil {
			return nil, err
		}
	}
	if tcp, is := opened.(*net.TCPListener); is {
		if fd, err := duplicate(tcp); err == nil { // without one the port is refused for a while, as it is by a start anew
			s.open[port] = fd
		}
	}
	return &keptListener{opened, s, port}, nil
}

// take is the inherited socket of a port; nil: there is none. The caller holds the lock.
func (s *Sockets) take(port int) net.Listener {
	fd, is := s.inherited[port]
	if !is {
		return nil
	}
	delete(s.inherited, port)
	file := os.NewFile(uintptr(fd), "listener")
	defer file.Close()
	opened, err := net.FileListener(file)
	if err != nil {
		return nil
	}
	if address, is := opened.Addr().(*net.TCPAddr); !is || address.Port != port {
		opened.Close()
		return nil
	}
	return opened
}

// duplicate is another descriptor of a socket. (*net.TCPListener).File has the same, whose Fd makes the socket block.
func duplicate(l *net.TCPListener) (fd int, err error) {
	raw, err := l.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(of uintptr) { fd, err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 3) })
	return fd, errors.Join(err, controlErr)
}

// CloseUnused closes the sockets of the previous program on which nobody listens, once the host has had the time to.
func (s *Sockets) CloseUnused() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	closeAll(s.inherited)
}

// persist has the sockets that are open now stay so, whoever closes their listeners, until the next program is started.
func (s *Sockets) persist() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeping = true
}

// pass makes the sockets ones of the next program in this process, and returns what its environment has to say of them; nothing when there are none. The guard
// gets them, too, for the case that the next program does not come to be ready.
func (s *Sockets) pass() (environment []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.keeping || len(s.open) == 0 {
		return nil
	}
	if err := handOver(s.dataDir, s.open); err != nil {
		fmt.Fprintf(os.Stderr, "the guard of the upgrade does not keep the listening sockets, and clients are refused if it fails: %v\n", err)
	}
	return inheritance(s.open)
}

// forward is pass for the sockets that this process has inherited and does not listen on, as the previous program is started in its stead.
func (s *Sockets) forward() (environment []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return inheritance(s.inherited)
}

// inheritance leaves sockets open for the next program in this process, and is what its environment has to say of them.
func inheritance(sockets map[int]int) (environment []string) {
	words := []string{strconv.Itoa(os.Getpid())}
	for _, port := range slices.Sorted(maps.Keys(sockets)) {
		if _, err := unix.FcntlInt(uintptr(sockets[port]), unix.F_SETFD, 0); err == nil {
			words = append(words, fmt.Sprintf("%d=%d", port, sockets[port]))
		}
	}
	if len(words) == 1 {
		return nil
	}
	return []string{socketsVariable + "=" + strings.Join(words, " ")}
}

// keptListener is a listener whose socket may stay open behind it.
type keptListener struct {
	net.Listener
	of   *Sockets
	port int
}

// Close ends accepting. Unless the program is being exchanged it frees the port.
func (l *keptListener) Close() error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if fd, is := l.of.open[l.port]; is && !l.of.keeping {
		unix.Close(fd)
		delete(l.of.open, l.port)
	}
	return l.Listener.Close()
}
