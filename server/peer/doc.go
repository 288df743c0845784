// Package peer is how hosts of one pool talk to each other: one TLS port, told apart by ALPN, on which everything
// between hosts demands a certificate of the pool on both sides.
package peer

import "pinion/server/pki"

// What is spoken on a connection, as TLS negotiates it (ALPN). Clients that offer none of these, "h2", "http/1.1" or
// nothing, reach the API.
const (
	Peer = "pinion-peer" // HTTP/2 between hosts of the pool
	Raft = "pinion-raft" // Raft between servers
	Join = "pinion-join" // HTTP/2 from hosts that have no certificate yet
)

// api is the name in here of what clients speak.
const api = ""

// ErrOtherPool is the error of a join when the server's certificates do not prove that it belongs to the token's pool. Nothing
// was sent to that server.
var ErrOtherPool = pki.ErrOtherPool
