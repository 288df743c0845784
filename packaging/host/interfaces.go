package host

import (
	"pinion/api"
	"pinion/api/events"
	"pinion/api/leader"
	"pinion/api/rest"
	"pinion/node"
	"pinion/server"
	"pinion/server/admission"
	"pinion/server/dispatch"
)

// The interfaces through which the packages meet, and the types that implement them.
var (
	_ api.Store           = (*server.Member)(nil)
	_ leader.Leadership   = server.Leadership{}
	_ leader.LocalState   = (*server.Member)(nil)
	_ events.History      = (*server.Member)(nil)
	_ rest.Queue          = server.Queue{}
	_ rest.JoinTokenStore = (*admission.JoinTokens)(nil)
	_ rest.HostAdmin      = server.HostAdmin{}
	_ rest.Snapshotter    = (*server.Member)(nil)
	_ rest.KeyStore       = server.Keys{}
	_ rest.TaskHost       = (*node.Node)(nil)
	_ rest.GPUHost        = (*node.GPUs)(nil)
	_ node.Control        = (*dispatch.Upstream)(nil)
)
