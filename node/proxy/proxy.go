package proxy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pinion/raftfsm/traffic"
)

// Config has the dependencies and options of a Proxy. Only the fields said to be so are required.
type Config struct {
	// Address is the address that this host advertises. Targets of a loopback address are connected to only when this one is, too; those of other
	// addresses that mean another machine on each host never.
	Address string
	// Certificates is the directory of NAME.crt and NAME.key, for listeners that end TLS.
	Certificates string
	// ACME has the certificates that come by ACME; nil: this host asks no CA.
	ACME ACME
	// Listen opens a listener's port; nil is the port of all addresses.
	Listen func(port int) (net.Listener, error)
	// Virtual is the range of this host's virtual addresses, which are no targets; zero: traffic.DefaultVirtualRange.
	Virtual netip.Prefix
	// ListenVirtual opens a port of a virtual address by its number; nil: the host has none.
	ListenVirtual func(number, port int) (net.Listener, error)
	// AccessLog gets a line of JSON for each request; nil is no log. It may block: lines that it cannot take are dropped, and counted.
	AccessLog io.Writer
	// Drained is called once for each target that is draining, as soon as this proxy has nothing in flight to it. It must not block.
	Drained func(target string)
	// Problems is called with the problem of each listener that does not serve, by port, whenever one has changed. It must neither block nor call the Proxy.
	Problems func([]traffic.ListenerProblem)
	// MaxConnections bounds the client connections of one listener; 0 is 16,384. Beyond it those that have been idle longest are cut off. As many
	// requests of HTTP may be under way: a connection of HTTP/2 has up to 128 of them, each with a connection to a target.
	MaxConnections int
	// Log gets the events of listeners; required.
	Log *slog.Logger
}

const (
	defaultMaxConnections = 16384
	retryInterval         = time.Second     // between two attempts to open a listener
	drainTimeout          = 5 * time.Minute // for the requests of a listener that is gone
)

// Proxy carries requests to targets. Its methods may be called at any time, also at once.
type Proxy struct {
	config   Config
	dialer   *targetDialer
	upstream *upstream
	access   *accessLog

	mu        sync.Mutex
	closed    bool
	routing   traffic.Routing
	groups    map[string]*group
	listeners map[socket]*listener
	problems  map[string]error // by listener ID
	retry     *time.Timer
	draining  context.Context // of listeners that were closed and still have requests: when it ends, those are cut off
	cut       context.CancelFunc
	closing   sync.WaitGroup // those listeners
}

// New returns a Proxy that listens nowhere until Apply.
func New(config Config) *Proxy {
	if config.Listen == nil {
		config.Listen = func(port int) (net.Listener, error) { return net.Listen("tcp", ":"+strconv.Itoa(port)) }
	}
	if config.MaxConnections == 0 {
		config.MaxConnections = defaultMaxConnections
	}
	if !config.Virtual.IsValid() {
		config.Virtual = traffic.DefaultVirtualRange
	}
	dialer := newTargetDialer(config.Address, config.Virtual)
	p := &Proxy{config: config, dialer: dialer, upstream: newUpstream(dialer), access: newAccessLog(config.AccessLog),
		groups: map[string]*group{}, listeners: map[socket]*listener{}}
	p.draining, p.cut = context.WithCancel(context.Background())
	p.retry = time.AfterFunc(time.Hour, p.again)
	p.retry.Stop()
	return p
}

// Apply replaces the Routing of the proxy, and returns the problem of each listener that does not serve it, by its ID. Those are tried again until
// they serve or another Routing comes. Connections and requests of what did not change are not touched; those of a listener that is gone may finish.
func (p *Proxy) Apply(routing traffic.Routing) map[string]error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.routing = routing
	p.apply()
	return maps.Clone(p.problems)
}

func (p *Proxy) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.apply()
	}
}

func (p *Proxy) apply() {
	p.updateGroups()
	p.setNames()
	before := p.problems
	p.problems = p.updateListeners()
	changed := false
	for id, err := range p.problems {
		if before[id] == nil || before[id].Error() != err.Error() {
			changed = true
			p.config.Log.Warn("a listener does not serve; it is tried again", "listener", id, "error", err)
		}
	}
	for id := range before {
		if p.problems[id] == nil {
			changed = true
			p.config.Log.Info("a listener serves again, or is gone", "listener", id)
		}
	}
	if changed && p.config.Problems != nil {
		p.config.Problems(p.listProblems())
	}
	if len(p.problems) > 0 {
		p.retry.Reset(retryInterval)
	}
}

// listProblems lists the problems of listeners, by port.
func (p *Proxy) listProblems() (all []traffic.ListenerProblem) {
	for _, l := range p.routing.Listeners {
		if err := p.problems[l.ID]; err != nil {
			all = append(all, traffic.ListenerProblem{Listener: l.ID, Port: l.Port, Problem: err.Error()})
		}
	}
	slices.SortStableFunc(all, func(a, b traffic.ListenerProblem) int { return cmp.Compare(a.Port, b.Port) })
	return all
}

func (p *Proxy) updateGroups() {
	next := make(map[string]*group, len(p.routing.Groups))
	for _, config := range p.routing.Groups {
		g := p.groups[config.ID]
		if g == nil {
			g = newGroup(config.ID, p.config.Drained)
		}
		g.update(config)
		next[config.ID] = g
	}
	for id, g := range p.groups {
		if next[id] == nil {
			g.close()
		}
	}
	p.groups = next
}

// updateListeners opens, changes and closes listeners until they are those of the routing. What is closed goes first: another may want its port.
func (p *Proxy) updateListeners() map[string]error {
	problems := map[string]error{}
	wanted := map[socket]traffic.Listener{}
	for _, config := range p.routing.Listeners {
		at := socketOf(config)
		if other, taken := wanted[at]; taken {
			problems[config.ID] = fmt.Errorf("port %d is already that of listener %s: choose another", config.Port, other.ID)
			continue
		}
		wanted[at] = config
	}
	for at, l := range p.listeners {
		if config, stays := wanted[at]; !stays || config.Protocol != l.protocol {
			p.closeLater(l)
		}
	}
	for _, config := range wanted {
		if err := p.updateListener(config); err != nil {
			problems[config.ID] = err
		}
	}
	return problems
}

// updateListener gives the listener of a port its config, and opens it if need be.
func (p *Proxy) updateListener(config traffic.Listener) error {
	at := socketOf(config)
	l := p.listeners[at]
	if l != nil && l.table.Load().isOf(config, p.groups) {
		return l.table.Load().certificates.problem()
	}
	table, err := newTable(config, p.groups, p.config)
	if err != nil {
		return err
	}
	if l != nil {
		l.table.Store(table)
		return table.certificates.problem()
	}
	opened, err := p.listen(at)
	if err != nil {
		return err
	}
	p.listeners[at] = p.open(opened, table)
	return table.certificates.problem()
}

// setNames tells ACME of the names for which listeners have certificates.
func (p *Proxy) setNames() {
	if p.config.ACME == nil {
		return
	}
	var names []string
	for _, l := range p.routing.Listeners {
		for _, certificate := range l.Certificates {
			if name, is := strings.CutPrefix(certificate, traffic.ACMEPrefix); is {
				names = append(names, name)
			}
		}
	}
	p.config.ACME.SetNames(names)
}

func (p *Proxy) closeLater(l *listener) {
	delete(p.listeners, l.socket)
	l.stop()
	p.closing.Go(func() {
		ctx, cancel := context.WithTimeout(p.draining, drainTimeout)
		defer cancel()
		l.finish(ctx)
	})
}

// Close stops listening at once, for good. Requests in flight may finish until ctx ends; then they are cut off.
func (p *Proxy) Close(ctx context.Context) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	p.retry.Stop()
	for _, l := range p.listeners {
		p.closeLater(l)
	}
	for _, g := range p.groups {
		g.stopWaiting()
	}
	p.mu.Unlock()
	defer context.AfterFunc(ctx, p.cut)()
	p.closing.Wait()
	p.cut()
	p.upstream.close()
	p.access.close()
}
