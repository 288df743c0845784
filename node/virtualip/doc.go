// Package virtualip has the virtual IPs of a host: it asks the leader which of those that the host offers it holds, and gives them to a network
// device, or takes them away.
package virtualip
