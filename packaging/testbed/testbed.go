// Package testbed runs N Pinion hosts on one machine, each as if on a machine of its own: a network namespace and a host
// name of its own, one link into a switch they share, a data directory and a containerd of its own. Links can be cut,
// hosts killed, stopped and started again. Nothing is added to the machine's own network.
//
// A testbed lives in a directory and outlives the process that made it; the directory holds everything that Down needs.
package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// ErrBusy is returned when another process uses the testbed.
var ErrBusy = errors.New("another process works with this cluster")

// ErrNone is returned when the directory holds no testbed.
var ErrNone = errors.New("there is no cluster here; `cluster up` makes one")

// Config describes a testbed.
type Config struct {
	Dir    string     // made when missing; short, because the paths of unix sockets are (at most about 60 bytes)
	Binary string     // the pinion program
	Hosts  [][]string // for each host, the flags of its `pinion up` beyond those that the testbed gives
	Disk   int64      // bytes of a disk of its own for each host's data directory; 0: all share the disk of Dir
}

// Testbed is an opened testbed. No other process can open it until Close.
type Testbed struct {
	Dir   string
	hosts []*Host
	state state
	lock  *os.File
}

// state is testbed.json. It is written before anything is made that it names.
type state struct {
	ID     string      `json:"id"` // part of the names of namespaces, so that testbeds do not meet
	Binary string      `json:"binary"`
	Subnet string      `json:"subnet"` // /24; host N has address N, the switch has 254
	Disk   int64       `json:"disk,omitempty"`
	Hosts  []hostState `json:"hosts"`
}

type hostState struct {
	Name  string   `json:"name"`
	Flags []string `json:"flags"`
}

// New makes the directory, the network and the disks of a testbed, and starts no host. When it fails, it removes what it made.
func New(config Config) (*Testbed, error) {
	if n := len(config.Hosts); n < 1 || n > maxHosts {
		return nil, fmt.Errorf("a cluster of %d hosts; give it 1 to %d", n, maxHosts)
	}
	if err := os.MkdirAll(config.Dir, 0o711); err != nil {
		return nil, err
	}
	b, err := openLocked(config.Dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(b.stateFile()); err == nil {
		b.Close()
		return nil, fmt.Errorf("there is a cluster in %s already; take it down first", config.Dir)
	}
	if b.state, err = newState(config); err == nil {
		b.initHosts()
		err = b.saveState()
	}
	if err == nil {
		err = b.createNetwork()
	}
	if err == nil {
		err = b.createDisks()
	}
	if err != nil {
		return nil, errors.Join(err, b.Down(context.Background()))
	}
	return b, nil
}

func newState(config Config) (state, error) {
	subnet, err := freeSubnet()
	if err != nil {
		return state{}, err
	}
	binary, err := filepath.Abs(config.Binary)
	if err == nil {
		_, err = os.Stat(binary)
	}
	if err != nil {
		return state{}, fmt.Errorf("the pinion program: %w; build it with `make build`", err)
	}
	s := state{ID: newID(), Binary: binary, Subnet: subnet.String(), Disk: config.Disk}
	for i, flags := range config.Hosts {
		s.Hosts = append(s.Hosts, hostState{Name: fmt.Sprintf("host%d", i+1), Flags: flags})
	}
	return s, nil
}

// Open opens a testbed that another process made. The error is ErrNone when the directory holds none, ErrBusy when it is in use.
func Open(dir string) (*Testbed, error) {
	if _, err := os.Stat(filepath.Join(dir, "testbed.json")); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	b, err := openLocked(dir)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(b.stateFile())
	if err == nil {
		err = json.Unmarshal(raw, &b.state)
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("the cluster in %s: %w", dir, err)
	}
	b.initHosts()
	return b, nil
}

func openLocked(dir string) (*Testbed, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("%s: %w", dir, ErrBusy)
	}
	return &Testbed{Dir: dir, lock: lock}, nil
}

// initHosts makes the hosts from the state.
func (b *Testbed) initHosts() {
	subnet := netip.MustParsePrefix(b.state.Subnet)
	for i, h := range b.state.Hosts {
		base := filepath.Join(b.Dir, h.Name)
		host := &Host{Name: h.Name, Dir: base, IP: addressOf(subnet, i+1), flags: h.Flags, namespace: b.namespace(h.Name), base: base, testbed: b}
		host.Disk = Disk{size: b.state.Disk, image: base + ".img", mount: base + ".disk"}
		if b.state.Disk > 0 {
			host.Dir = filepath.Join(host.Disk.mount, "data")
		}
		b.hosts = append(b.hosts, host)
	}
}

func (b *Testbed) stateFile() string { return filepath.Join(b.Dir, "testbed.json") }

func (b *Testbed) saveState() error {
	raw, err := json.MarshalIndent(b.state, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(b.stateFile(), append(raw, '\n'))
}

// writeFile replaces a file so that a crash leaves the old content or the new.
func writeFile(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Close releases the testbed for other processes. The hosts run on.
func (b *Testbed) Close() error { return b.lock.Close() }

// Hosts are all hosts, in the order of their numbers.
func (b *Testbed) Hosts() []*Host { return b.hosts }

// Host finds a host by its name, such as host1.
func (b *Testbed) Host(name string) (*Host, error) {
	for _, h := range b.hosts {
		if h.Name == name {
			return h, nil
		}
	}
	return nil, fmt.Errorf("there is no %q; there are host1 to host%d", name, len(b.hosts))
}

// Up starts the first host, then the others, which join it. It returns when all are ready.
func (b *Testbed) Up(ctx context.Context) error {
	first := b.hosts[0]
	if err := first.Start(ctx); err != nil || len(b.hosts) == 1 {
		return err
	}
	tokens := map[string][]string{} // of each cluster
	for _, h := range b.hosts[1:] {
		cluster := h.Cluster()
		if tokens[cluster] != nil {
			continue
		}
		var err error
		if tokens[cluster], err = first.JoinFlags(len(b.hosts), cluster); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, h := range b.hosts[1:] {
		group.Go(func() error { return h.Start(ctx, tokens[h.Cluster()]...) })
	}
	return group.Wait()
}
