package node

import "slices"

// SetVirtualIPProblem takes why this host cannot hold a virtual IP that it offers; empty: it can. The pool records it with what the host says
// of itself.
func (n *Node) SetVirtualIPProblem(ip, problem string) {
	n.mu.Lock()
	offered := slices.Clone(n.host.VirtualIPs)
	for i := range offered {
		if offered[i].IP == ip {
			offered[i].Problem = problem
		}
	}
	n.host.VirtualIPs = offered
	n.mu.Unlock()
	n.rejoin.request()
}
