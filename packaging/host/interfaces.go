package host

import (
	"pinion/api"
	"pinion/node"
	"pinion/server"
)

// What the rooms ask of one another, and who answers.
var (
	_ api.Store       = (*server.Member)(nil)
	_ api.Leadership  = (*server.Member)(nil)
	_ api.LocalState  = (*server.Member)(nil)
	_ api.History     = (*server.Member)(nil)
	_ api.Queue       = (*server.Member)(nil)
	_ api.TokenStore  = (*server.Member)(nil)
	_ api.HostAdmin   = (*server.Member)(nil)
	_ api.Snapshotter = (*server.Member)(nil)
	_ api.KeyStore    = (*server.Member)(nil)
	_ api.TaskHost    = (*node.Node)(nil)
	_ node.Control    = (*server.Member)(nil)
)
