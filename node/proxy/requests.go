package proxy

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// requests are those of HTTP that are under way at a listener. Beyond the bound those of the network that has most are cut off, so that no network keeps
// another one out.
type requests struct {
	most int

	mu   sync.Mutex
	all  int
	from map[string]*clients // by network
}

// clients are the connections of a network with a request under way, and how many each has.
type clients struct {
	requests int
	conns    map[*connection]int
}

// begin counts a request, and reports whether it may be served.
func (q *requests) begin(conn *connection) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all >= q.most && !q.makeRoom(conn.network) {
		return false
	}
	if q.from == nil {
		q.from = map[string]*clients{}
	}
	own := q.from[conn.network]
	if own == nil {
		own = &clients{conns: map[*connection]int{}}
		q.from[conn.network] = own
	}
	q.all++
	own.requests++
	own.conns[conn]++
	return true
}

// end ends what begin has allowed.
func (q *requests) end(conn *connection) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if own := q.from[conn.network]; own != nil && own.conns[conn] > 0 { // it was not cut off
		q.drop(conn, 1)
	}
}

// makeRoom cuts off one in 64 of the requests, of the network that has most; none when another one of the newcomer's would make that the one with most.
// q.mu is held.
func (q *requests) makeRoom(newcomer string) bool {
	has := 0
	if own := q.from[newcomer]; own != nil {
		has = own.requests
	}
	var largest *clients
	for _, other := range q.from {
		if largest == nil || other.requests > largest.requests {
			largest = other
		}
	}
	if largest == nil || largest.requests <= has+1 {
		return false
	}
	busiest := slices.SortedFunc(maps.Keys(largest.conns), func(a, b *connection) int { return cmp.Compare(largest.conns[b], largest.conns[a]) })
	for left := q.most/64 + 1; left > 0 && len(busiest) > 0; busiest = busiest[1:] {
		left -= largest.conns[busiest[0]]
		q.drop(busiest[0], largest.conns[busiest[0]])
		busiest[0].Close()
	}
	return true
}

// drop forgets requests of a connection. q.mu is held.
func (q *requests) drop(conn *connection, n int) {
	own := q.from[conn.network]
	q.all -= n
	own.requests -= n
	if own.conns[conn] -= n; own.conns[conn] == 0 {
		delete(own.conns, conn)
	}
	if own.requests == 0 {
		delete(q.from, conn.network)
	}
}

// networkBits are how many bits of an address of IPv6 say whose it is: one client has all addresses of its network.
const networkBits = 64

// networkOf is whose address it is that a client has: its address, and for IPv6 the network.
func networkOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return withoutPort(remote)
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is6() {
		if network, err := ip.Prefix(networkBits); err == nil {
			ip = network.Addr()
		}
	}
	return ip.String()
}
