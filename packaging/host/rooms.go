package host

import (
	"pinion/api"
	"pinion/node"
	"pinion/server"
)

// What the rooms ask of one another, and who answers.
var (
	_ api.Cluster        = (*server.Member)(nil)
	_ api.Leadership     = (*server.Member)(nil)
	_ api.StaleState     = (*server.Member)(nil)
	_ api.History        = (*server.Member)(nil)
	_ api.Queue          = (*server.Member)(nil)
	_ api.TokenKeeper    = (*server.Member)(nil)
	_ api.HostKeeper     = (*server.Member)(nil)
	_ api.SnapshotKeeper = (*server.Member)(nil)
	_ api.KeyKeeper      = (*server.Member)(nil)
	_ api.Host           = (*node.Node)(nil)
	_ node.Control       = (*server.Member)(nil)
)
