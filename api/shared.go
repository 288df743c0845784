package api

import (
	"pinion/api/auth"
	"pinion/api/auth/sigv4"
	"pinion/api/cloudwatchlogs"
	"pinion/api/ecs"
	"pinion/api/ecs/view"
	"pinion/api/events"
	"pinion/api/exec"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/metrics"
	"pinion/api/openid"
	"pinion/api/rest"
	"pinion/api/rest/images"
)

// Shared is what the handlers of one process share, so that a limit holds for all its listeners together and what one of
// them has worked out serves the others.
type Shared struct {
	// Metrics are those of this process: its owner registers what it measures beside the requests.
	Metrics *metrics.Registry

	limits    *httpx.Limits
	logReads  *httpx.AddressSemaphore
	replay    auth.ReplayCache
	rates     auth.RateLimiter
	signers   sigv4.SignerCache
	readIndex leader.ReadIndexCache
	tasks     ecs.TaskCache
	events    *events.Shared
	idTokens  openid.Verifier
	devices   openid.Devices
	sessions  exec.Sessions
	transfers images.Transfers
	searches  *httpx.FairSemaphore
}

// NewShared returns the usual limits and empty caches.
func NewShared() *Shared {
	return &Shared{Metrics: metrics.NewRegistry(), limits: httpx.NewLimits(), logReads: cloudwatchlogs.NewReads(), events: events.NewShared(view.Event), searches: rest.NewSearches()}
}
