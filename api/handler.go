package api

import (
	"cmp"
	"net/http"
	"time"

	"pinion/api/auth"
	"pinion/api/autoscaling"
	"pinion/api/cloudwatch"
	"pinion/api/cloudwatchlogs"
	"pinion/api/exec"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/secretsmanager"
	"pinion/api/web"
	"pinion/api/wire"
)

// NewHandler is the whole HTTP surface of a host: the operations of ECS and CloudWatch Logs for AWS's clients (POST /), the
// operations of ECS and Pinion's own routes for everyone else (/v1/...), and health. Several listeners may serve it; make one
// handler for each kind of trust.
func NewHandler(config Config) http.Handler { return newHandler(config, nil) }

func newHandler(config Config, stop httpx.Stop) http.Handler {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Shared == nil {
		config.Shared = NewShared()
	}
	config.Region = cmp.Or(config.Region, DefaultRegion)
	peers := &httpx.Peers{Transport: config.Forward, HostID: config.HostID, Stop: stop, Connected: config.Store.Connected, Limits: config.Shared.limits}
	c := newChain(config, peers)
	sessions := newExec(config, peers, c)
	operations := newOperationEndpoints(config, &cloudwatchlogs.Handler{
		Host: config.Agent.Tasks, Peers: peers, Reads: config.Shared.logReads, Store: config.Store, Ended: config.Ended, Now: config.Now,
	}, sessions)
	mux := http.NewServeMux()
	mux.Handle("POST /{$}", c.handler(httpx.AWSJSON, "", operations.byTarget))
	mux.Handle(cloudwatch.PathPattern, c.handler(httpx.CBOR, "", operations.byPathOfCBOR))
	mux.Handle("POST /v1/{operation}", c.handler(httpx.JSON, "", operations.byPath))
	c.mount(mux, newRoutes(config, peers, operations))
	c.mountExec(mux, sessions)
	mux.Handle("GET "+web.Path, c.limited("GET "+web.Path, func(r *request) error { return web.Serve(r.Exchange) }))
	mux.Handle("GET /{$}", c.limited("GET /", func(r *request) error { return web.Redirect(r.Exchange) }))
	mux.Handle("/", serve(httpx.JSON, "", notFound))
	return httpx.AccessLog(config.Log, config.Audit, config.Shared.Metrics.Observe, httpx.PeerHeaders(config.FromPeer, httpx.QueryBound(mux)))
}

func newChain(config Config, peers *httpx.Peers) *chain {
	authenticator := &auth.Authenticator{
		Trusted: config.Trusted, Region: config.Region, Service: signedService, Now: config.Now, Signers: &config.Shared.signers,
	}
	if config.Admin.Keys != nil {
		authenticator.Secrets = config.Admin.Keys
	}
	return &chain{
		auth: authenticator, limits: config.Shared.limits, replay: &config.Shared.replay, rates: &config.Shared.rates, used: config.SignatureUsed, now: config.Now,
		router: &leader.Router{
			Store: config.Store, Leader: config.Leader, Local: config.Local, Auth: authenticator, Peers: peers, ReadIndex: &config.Shared.readIndex,
		},
	}
}

// signedService is the service that a request must be signed for: at the paths of AWS's protocols the one that its target or its form
// belongs to, elsewhere ECS.
func signedService(r *http.Request) string {
	switch {
	case cloudwatch.IsPath(r):
		return cloudwatch.Service
	case r.URL.Path != "/":
		return "ecs"
	case exec.IsSSM(r):
		return exec.SSMService
	case cloudwatchlogs.IsTarget(r):
		return cloudwatchlogs.Service
	case autoscaling.IsTarget(r):
		return autoscaling.Service
	case secretsmanager.IsTarget(r):
		return secretsmanager.Service
	case cloudwatch.IsTarget(r):
		return cloudwatch.Service
	case isQuery(r):
		return queryService(httpx.FromRequest(r).Body)
	}
	return "ecs"
}

// notFound answers every path and method that is not served.
func notFound(r *request) error {
	method, path := r.Request.Method, r.Request.URL.Path
	if method != http.MethodGet && method != http.MethodPost {
		return wire.Errorf(httpx.NotAllowed, "%s is not served: use GET or POST.", method)
	}
	return wire.Errorf(httpx.NotFound, "There is nothing at %s %s. Operations are POST /v1/RunTask and so on; GET /v1/openapi.json tells what else there is.", method, path)
}
