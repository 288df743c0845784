// Package dispatch is the stream between a host's agent and a server: assignments out, as deltas; reports and heartbeats
// in. Upstream and Session are the host's side, Dispatcher and Backend the server's.
package dispatch
