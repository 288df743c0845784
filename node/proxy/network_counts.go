package proxy

// networkCounts counts the connections of each network, and finds a network with the most without a look at every connection.
type networkCounts struct {
	of    map[string]int // connections, by network; none has 0
	sizes map[int]int    // networks, by the number of their connections; none has 0
	most  int            // the greatest number of connections
}

func newNetworkCounts() networkCounts {
	return networkCounts{of: map[string]int{}, sizes: map[int]int{}}
}

// add counts one connection more of the network, or with -1 one fewer.
func (n *networkCounts) add(network string, change int) {
	before := n.of[network]
	now := before + change
	if n.sizes[before]--; n.sizes[before] <= 0 {
		delete(n.sizes, before)
	}
	if now == 0 {
		delete(n.of, network)
	} else {
		n.of[network] = now
		n.sizes[now]++
	}
	if n.most = max(n.most, now); n.sizes[n.most] == 0 {
		n.most = now // the only one with the most has one fewer
	}
}

// greatest is a network with the most connections, if one more of newcomer would not make that such a network.
func (n *networkCounts) greatest(newcomer string) (network string, greater bool) {
	if n.most <= n.of[newcomer]+1 {
		return "", false
	}
	for network, connections := range n.of {
		if connections == n.most {
			return network, true
		}
	}
	return "", false
}
