package names

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"pinion/raftfsm/traffic"
)

// maxPrefix makes the smallest range: 126 names.
const maxPrefix = 24

// resolverNumber is the number of the address where a host answers DNS.
const resolverNumber = 1

// Config has the dependencies of Names.
type Config struct {
	Range netip.Prefix // of virtual addresses; zero: traffic.DefaultVirtualRange
	// Site is the address where the names are answered for machines that are no hosts, "host:port"; empty: nowhere. They cannot reach virtual
	// addresses, so they get those of the hosts that run the tasks.
	Site string
	Log  *slog.Logger
}

// Proxy carries the requests of listeners.
type Proxy interface {
	Apply(traffic.Routing) map[string]error
}

// Names are the names of services on a host. Apply replaces them.
type Names struct {
	config  Config
	network *network
	table   atomic.Pointer[table]
	proxy   Proxy
	upstart sync.Mutex
	local   *server // answers the host and its tasks; nil until there are names
	site    *server // nil: not yet, or never
	problem string  // the last one that was logged
}

// New makes Names of a host; it has none until Apply.
func New(config Config) (*Names, error) {
	if !config.Range.IsValid() {
		config.Range = traffic.DefaultVirtualRange
	}
	network, err := newNetwork(config.Range)
	if err != nil {
		return nil, err
	}
	n := &Names{config: config, network: network}
	n.table.Store(newTable(traffic.Routing{}, network, ""))
	return n, nil
}

// Listen opens a port of a virtual address.
func (n *Names) Listen(number, port int) (socket net.Listener, err error) {
	address, err := n.network.address(number)
	if err != nil {
		return nil, err
	}
	err = n.network.listen(func() (err error) {
		socket, err = net.Listen("tcp4", netip.AddrPortFrom(address, uint16(port)).String())
		return err
	})
	return socket, err
}

// Before has the names of each Routing in place before the proxy gets it.
func (n *Names) Before(proxy Proxy) *Names {
	n.proxy = proxy
	return n
}

// Apply makes the names of a Routing those of the host.
func (n *Names) Apply(routing traffic.Routing) map[string]error {
	table := newTable(routing, n.network, n.table.Load().domain)
	n.table.Store(table)
	if err := n.serve(table); err != nil && err.Error() != n.problem {
		n.problem = err.Error()
		n.config.Log.Warn("names of services are not resolved here; it is tried again with the next change of them", "error", err)
	}
	return n.proxy.Apply(routing)
}

// Answer has the virtual addresses answer containers of this host in a subnet, which call by addresses of their own. Nobody else beside the host is
// answered.
func (n *Names) Answer(subnet netip.Prefix) error { return n.network.answer(subnet) }

// Resolver is the resolver of tasks that start from now on, and the domain of names without one: empty while there are no names.
func (n *Names) Resolver() (address, domain string) {
	n.upstart.Lock()
	defer n.upstart.Unlock()
	if n.local == nil {
		return "", ""
	}
	return n.local.address, n.table.Load().domain
}

// serve answers DNS, from the first name on.
func (n *Names) serve(t *table) error {
	n.upstart.Lock()
	defer n.upstart.Unlock()
	var failed []error
	if n.local == nil && t.domain != "" {
		local := newServer(n.config.Log, n.answerHost)
		err := n.answerTasks(local)
		if err == nil {
			n.local = local
		}
		failed = append(failed, err)
	}
	if n.site == nil && n.config.Site != "" {
		site := newServer(n.config.Log, n.answerSite)
		err := site.listen(n.config.Site)
		if err == nil {
			n.site = site
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// answerTasks has a server answer the host and its tasks.
func (n *Names) answerTasks(local *server) error {
	address, err := n.network.address(resolverNumber)
	if err != nil {
		return err
	}
	local.address = address.String()
	local.forwarded.many, local.connections.many = n.network.gateway.String(), n.network.gateway.String()
	return n.network.listen(func() error { return local.listen(netip.AddrPortFrom(address, dnsPort).String()) })
}

// Close takes the names away. The proxy's listeners are closed before.
func (n *Names) Close() {
	n.upstart.Lock()
	defer n.upstart.Unlock()
	for _, s := range []*server{n.local, n.site} {
		if s != nil {
			s.close()
		}
	}
	n.network.close()
}

const dnsPort = 53
