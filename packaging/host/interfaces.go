package host

import (
	"pinion/api"
	"pinion/api/events"
	"pinion/api/leader"
	"pinion/api/login"
	"pinion/api/rest"
	"pinion/node"
	"pinion/server"
	"pinion/server/admission"
	"pinion/server/backup"
	"pinion/server/dispatch"
	"pinion/server/membership"
	"pinion/server/rpc"
	"pinion/server/scheduler"
)

// The interfaces through which the packages meet, and the types that implement them.
var (
	_ api.Store           = (*server.Member)(nil)
	_ leader.Leadership   = rpc.Leadership{}
	_ leader.LocalState   = (*server.Member)(nil)
	_ events.History      = (*server.Member)(nil)
	_ rest.Queue          = scheduler.Local{}
	_ rest.JoinTokenStore = (*admission.JoinTokens)(nil)
	_ rest.HostAdmin      = membership.HostAdmin{}
	_ rest.Snapshotter    = backup.Saver{}
	_ rest.KeyStore       = admission.KeyStore{}
	_ login.Keys          = admission.KeyStore{}
	_ rest.TaskHost       = (*node.Node)(nil)
	_ rest.GPUHost        = (*node.GPUs)(nil)
	_ node.Control        = (*dispatch.Upstream)(nil)
)
