package peer

import (
	"log/slog"
	"net/netip"
	"time"
)

const (
	// maxClients bounds the connections of clients, and of whoever has not shown a host's certificate yet. A connection holds some
	// 30 KiB.
	maxClients = 16 << 10
	// maxClientsPerAddress bounds those from one address; an IPv6 client counts by its /64.
	maxClientsPerAddress = 2 << 10
	// maxPerHost bounds the connections of one host of the pool. It needs a handful.
	maxPerHost = 64
	// maxReserved is how many connections beyond those bounds may show the certificate of a host, which takes milliseconds: the oldest goes when
	// there is another one. A container has the address of its host, and must not keep that from the servers.
	maxReserved = 256
	// warnInterval is the least time between two lines about refused connections.
	warnInterval = time.Minute
)

// clientCount counts connections that are not of hosts. The port's mutex guards it.
type clientCount struct {
	most, mostPerAddress int
	all                  int
	byAddress            map[netip.Prefix]int
	refused              int // since the last line about it
	warned               time.Time
}

func newClientCount() clientCount {
	return clientCount{most: maxClients, mostPerAddress: maxClientsPerAddress, byAddress: map[netip.Prefix]int{}}
}

// add counts a connection, unless there are too many.
func (n *clientCount) add(from netip.Prefix) bool {
	if n.all >= n.most || n.byAddress[from] >= n.mostPerAddress {
		return false
	}
	n.all++
	n.byAddress[from]++
	return true
}

func (n *clientCount) remove(from netip.Prefix) {
	n.all--
	if n.byAddress[from]--; n.byAddress[from] == 0 {
		delete(n.byAddress, from)
	}
}

// warn says that a connection was refused, once in a while.
func (n *clientCount) warn(log *slog.Logger, from netip.Prefix) {
	n.refused++
	if now := time.Now(); now.Sub(n.warned) >= warnInterval {
		log.Warn("connections of clients are refused: there are too many", "client", from.Addr(), "refused", n.refused, "open", n.all,
			"fromThatAddress", n.byAddress[from], "most", n.most, "mostFromOneAddress", n.mostPerAddress)
		n.refused, n.warned = 0, now
	}
}
