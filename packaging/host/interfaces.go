package host

import (
	"pinion/api"
	"pinion/api/events"
	"pinion/api/leader"
	"pinion/api/rest"
	"pinion/node"
	"pinion/server"
	"pinion/server/admission"
)

// The interfaces through which the packages meet, and the types that implement them.
var (
	_ api.Store         = (*server.Member)(nil)
	_ leader.Leadership = (*server.Member)(nil)
	_ leader.LocalState = (*server.Member)(nil)
	_ events.History    = (*server.Member)(nil)
	_ rest.Queue        = (*server.Member)(nil)
	_ rest.TokenStore   = (*admission.JoinTokens)(nil)
	_ rest.HostAdmin    = (*server.Member)(nil)
	_ rest.Snapshotter  = (*server.Member)(nil)
	_ rest.KeyStore     = server.Keys{}
	_ rest.TaskHost     = (*node.Node)(nil)
	_ node.Control      = (*server.Member)(nil)
)
