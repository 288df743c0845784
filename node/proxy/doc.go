// Package proxy is the data plane of a host: it listens on the ports of the pool's listeners and carries requests and connections to the targets
// of their groups. What it does is a traffic.Routing, which may be replaced at any time; DESIGN.md says how.
package proxy
