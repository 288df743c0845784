package proxy

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// requests are the HTTP requests in progress at a listener. Beyond the bound those of the network with the most are cut off, so that no network keeps
// another one out.
type requests struct {
	most int

	mu   sync.Mutex
	all  int
	from map[string]int           // by network
	busy map[*connection]struct{} // those with requests, which they count
}

// begin counts a request, and reports whether it may be served.
func (q *requests) begin(conn *connection) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all >= q.most && !q.makeRoom(conn.network) {
		return false
	}
	if q.from == nil {
		q.from, q.busy = map[string]int{}, map[*connection]struct{}{}
	}
	q.busy[conn] = struct{}{}
	q.count(conn, 1)
	return true
}

// end ends a request that begin has allowed.
func (q *requests) end(conn *connection) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if conn.requests > 0 { // it was not cut off
		q.count(conn, -1)
	}
}

// makeRoom cuts off one in 64 of the requests, of the network that has most; none when another one of the newcomer's would make that the one with most.
// q.mu is held.
func (q *requests) makeRoom(newcomer string) bool {
	largest := ""
	for network, n := range q.from {
		if n > q.from[largest] {
			largest = network
		}
	}
	if q.from[largest] <= q.from[newcomer]+1 {
		return false
	}
	busiest := slices.SortedFunc(maps.Keys(q.busy), func(a, b *connection) int { return cmp.Compare(b.requests, a.requests) })
	busiest = slices.DeleteFunc(busiest, func(conn *connection) bool { return conn.network != largest })
	for left := q.most/64 + 1; left > 0 && len(busiest) > 0; busiest = busiest[1:] {
		left -= busiest[0].requests
		q.count(busiest[0], -busiest[0].requests)
		busiest[0].Close()
	}
	return true
}

// count adds to the requests of a connection, and forgets what has none. q.mu is held.
func (q *requests) count(conn *connection, n int) {
	q.all += n
	conn.requests += n
	q.from[conn.network] += n
	if conn.requests == 0 {
		delete(q.busy, conn)
	}
	if q.from[conn.network] == 0 {
		delete(q.from, conn.network)
	}
}

// networkBits is the length of an IPv6 network: one client has all addresses of its network.
const networkBits = 64

// networkOf is the network of a client: its address, and for IPv6 the network of that.
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
