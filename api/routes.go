package api

import (
	"context"
	"net/http"
	"slices"

	"pinion/api/ecs"
	"pinion/api/ecs/view"
	"pinion/api/events"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/rest"
	"pinion/api/rest/images"
	"pinion/api/wire"
)

// routes are the tables of everything beside the operations of ECS and CloudWatch Logs.
type routes struct {
	keyed   []rest.Route // need an access key
	open    []rest.Route // need none
	login   []rest.Route // need none, and are the leader's
	openapi rest.Route   // needs none, and describes all of them
}

func newRoutes(config Config, peers *httpx.Peers, operations *operationEndpoints) routes {
	api := &rest.API{
		Store: config.Store, Agent: config.Agent, Queue: config.Queue, Ended: config.Ended, Admin: config.Admin, Leader: config.Leader, Peers: peers,
		HostID: config.HostID, Version: config.Version, Now: config.Now, CheckTeam: ecs.CheckTeam, IDTokens: &config.Shared.idTokens, Exec: operations.exec, Searches: config.Shared.searches,
	}
	kept := &images.Handler{Peers: peers, Store: config.Store, Pool: config.Admin.Images, Host: config.Agent.Images, Transfers: &config.Shared.transfers, Now: config.Now}
	changes := &events.Handler{History: config.History, Local: config.Local, Shared: config.Shared.events, Stop: peers.Stop, Audit: config.Audit, Refusal: view.Refusal}
	login, logout := loginRoutes(api, config)
	t := routes{keyed: append(slices.Concat(api.Routes(), kept.Routes(), logout, metricRoutes(config, peers), upgradeRoutes(api, config.Agent.Upgrades, config.Local), certificateRoutes(config.Store), volumeRoutes(api)), operations.dryRunRoute(config.Services), progressRoute(config.Services), rest.EventsRoute(changes.Serve)), open: api.OpenRoutes(), login: login}
	t.openapi = openapiRoute(func() []rest.Route { return t.all() })
	return t
}

// all is every route, those that need no key last.
func (t *routes) all() []rest.Route {
	return append(slices.Concat(t.keyed, t.open, t.login), t.openapi)
}

// mount serves the tables. The health and the version of a host are outside the limits: they cost next to nothing, and a
// health check must succeed on a busy host.
func (c *chain) mount(mux *http.ServeMux, t routes) {
	for _, route := range t.keyed {
		mux.Handle(nameOf(route), c.route(route))
	}
	for _, route := range t.open {
		serving := withoutKey(route)
		if route.Mode == leader.LocalOnly {
			serving = c.withOptionalKey(route)
		}
		mux.Handle(nameOf(route), serve(httpx.JSON, nameOf(route), serving))
	}
	for _, route := range t.login {
		mux.Handle(nameOf(route), c.limited(nameOf(route), c.anonymous(route)))
	}
	mux.Handle(nameOf(t.openapi), c.limited(nameOf(t.openapi), withoutKey(t.openapi)))
}

// nameOf is the pattern of a route in the mux, and its name in the access log.
func nameOf(route rest.Route) string { return route.Method + " " + route.Path }

// maxAnonymousBody is the size in bytes of what anybody may send at most: an ID token is some thousands.
const maxAnonymousBody = 16 << 10

// anonymous serves a route of the leader to callers without an access key. Every change that one asks for is audited.
func (c *chain) anonymous(route rest.Route) handler {
	return func(r *request) error {
		r.Audited = route.Method != http.MethodGet
		if len(r.Body) > maxAnonymousBody {
			return wire.Errorf(httpx.TooLarge, "The body has %d bytes; without an access key it can have %d.", len(r.Body), maxAnonymousBody)
		}
		res, answered, err := c.router.Anonymous(r.Exchange, r.Audited)
		if err != nil || answered {
			return err
		}
		r.Writes = r.Audited
		return route.Serve(r.Exchange, res)
	}
}

// withOptionalKey serves a route that tells more to those whom this host knows.
func (c *chain) withOptionalKey(route rest.Route) handler {
	return func(r *request) error {
		if principal, err := c.router.LocalPrincipal(r.Exchange); err == nil {
			r.Resolution.Principal, r.Exchange.Principal = principal, principal.ARN
		}
		return route.Serve(r.Exchange, r.Resolution)
	}
}

func withoutKey(route rest.Route) handler {
	return func(r *request) error { return route.Serve(r.Exchange, r.Resolution) }
}

// endpointOf is the endpoint of a route that needs a key.
func (c *chain) endpointOf(route rest.Route) *endpoint {
	return &endpoint{
		name: nameOf(route), mode: route.Mode, role: route.Role, scope: route.Scope, writes: route.Method != http.MethodGet, ownHost: route.OwnHost, list: route.List,
		bind: func(r *request) (call, error) {
			if err := route.Scope.CheckQuery(r.Resolution.Principal, r.Request.URL.Query()); err != nil {
				return call{}, err
			}
			serve := func() error { return route.Serve(r.Exchange, r.Resolution) }
			if route.Stream {
				if err := c.limits.HoldStream(r.Exchange, r.Resolution.Principal.SlotOwner()); err != nil {
					return call{}, err
				}
				return call{run: func(context.Context) error { return c.whileKeyLives(r, serve) }}, nil
			}
			return call{run: func(context.Context) error { return serve() }}, nil
		},
	}
}

// route is the chain for a route that needs a key. A request that the leader has authorized for the host of a task comes
// without one.
func (c *chain) route(route rest.Route) http.Handler {
	name, e := nameOf(route), c.endpointOf(route)
	find := func(*request) (*endpoint, error) { return e, nil }
	keyed := c.handler(httpx.JSON, name, find)
	if route.Upload {
		keyed = c.uploads(name, find)
	}
	if route.Host == nil {
		return keyed
	}
	authorized := c.limited(name, func(r *request) error {
		if route.Stream {
			if err := c.limits.HoldStream(r.Exchange, r.Origin.Owner); err != nil {
				return err
			}
		}
		return route.Host(r.Exchange, r.Request.PathValue("id"))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if httpx.OriginOf(r).Authorized {
			authorized.ServeHTTP(w, r)
			return
		}
		keyed.ServeHTTP(w, r)
	})
}
