package api

import (
	"context"
	"net/http"
	"time"

	"pinion/api/auth"
	"pinion/api/auth/sigv4"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// chain handles every request that needs an access key in one order; see stages.
type chain struct {
	auth   *auth.Authenticator
	limits *httpx.Limits
	router *leader.Router
	replay *auth.ReplayCache
	used   func(signature spec.Signature, signedAt time.Time) bool // see Config.SignatureUsed
	rates  *auth.RateLimiter
	now    func() time.Time
}

// stages is the order. Before it every request has its id, its access log (httpx.AccessLog) and its origin
// (httpx.PeerHeaders); after it comes the endpoint itself. A stage refuses the request by an error, answers it, or calls next.
//
// The order is a promise: each stage costs more than the one before it, so what anybody can send costs little, and no input is
// looked at before its sender is known.
func (c *chain) stages(admit stage, find finder) []stage {
	return []stage{
		c.checkForm,  // limits: credentials that can be somebody's by their form
		admit,        // limits: size and time of the body, requests in flight
		find.stage,   // the endpoint, unless the path names it
		c.resolve,    // authentication and leader: the principal and the state to answer from, or the leader answers
		c.limitRate,  // limits: requests per second of the key
		authorize,    // authorization: the role of the key, and whether it is for the whole pool where the endpoint is about that
		c.decode,     // decode and scope: the input, and the cluster that it is about
		c.changeOnce, // replay: a signature changes something once
	}
}

// request is one request on its way through the chain. Each stage fills in what later ones need.
type request struct {
	*httpx.Exchange
	leader.Resolution           // from resolve on
	endpoint          *endpoint // from find on
	call              call      // from decode on
}

// endpoint is what a request is for.
type endpoint struct {
	name    string         // for the access log
	mode    leader.Mode    // the state that it is answered from
	role    accesskey.Role // least role of the access keys
	scope   auth.Scope     // the clusters that it is about; without one it refuses keys for some clusters
	ownHost bool           // a host's own key may call it too; the endpoint itself checks that it is about that host
	writes  bool           // may change the state
	repeats bool           // doing it twice in a row means no more than doing it once; see auth.Change
	list    bool           // its answer may be as long as the state is large, see httpx.Limits.HoldList
	audited bool           // the audit log has its calls, also where the role is not admin
	unknown error          // why there is no such operation; only an authenticated caller is told
	bind    func(*request) (call, error)
}

// unknownOperation stands in the logs for every operation that there is none of: names that anybody makes up tell no refusals apart.
const unknownOperation = "(unknown operation)"

// call is an endpoint with its input, which is decoded and within the scope of the caller's key.
type call struct {
	clientToken string // with the same one, doing it twice is doing it once
	run         func(ctx context.Context) error
}

// handler handles a request: it replies, or returns the error to reply with.
type handler func(*request) error

// stage is one step of the chain.
type stage func(r *request, next handler) error

// finder finds the endpoint of a request by its headers and its path.
type finder func(*request) (*endpoint, error)

// handler is the chain for the requests of one kind. name is that of their endpoint where the path names it.
func (c *chain) handler(format, name string, find finder) http.Handler {
	return serve(format, name, compose(run, c.stages(c.admit, find)...))
}

// uploads is the chain for requests whose body is not held: their endpoint reads it.
func (c *chain) uploads(name string, find finder) http.Handler {
	return serve(httpx.JSON, name, compose(run, c.stages(c.admitUpload, find)...))
}

// limited is the part of the chain for requests that need no access key: only the limits.
func (c *chain) limited(name string, last handler) http.Handler {
	return serve(httpx.JSON, name, compose(last, c.admit))
}

// serve begins the chain, and replies with its error.
func serve(format, name string, handle handler) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		x := httpx.FromRequest(r)
		x.Request, x.Format, x.Operation = r, format, name
		if err := handle(&request{Exchange: x}); err != nil {
			x.Refuse(err)
		}
	})
}

func compose(last handler, stages ...stage) handler {
	for i := len(stages) - 1; i >= 0; i-- {
		step, next := stages[i], last
		last = func(r *request) error { return step(r, next) }
	}
	return last
}

func (c *chain) checkForm(r *request, next handler) error {
	if err := c.auth.CheckForm(r.Request); err != nil {
		return err
	}
	return next(r)
}

func (c *chain) admit(r *request, next handler) error {
	if err := c.limits.Admit(r.Exchange); err != nil {
		return err
	}
	return next(r)
}

func (c *chain) admitUpload(r *request, next handler) error {
	if err := c.limits.AdmitUpload(r.Exchange); err != nil {
		return err
	}
	r.Request = sigv4.Streamed(r.Request)
	return next(r)
}

func (find finder) stage(r *request, next handler) (err error) {
	if r.endpoint, err = find(r); err != nil {
		return err
	}
	if r.Operation = r.endpoint.name; r.endpoint.unknown != nil {
		r.Operation = unknownOperation // the name is the caller's word, and nobody knows yet who that is
	}
	return next(r)
}

func (c *chain) resolve(r *request, next handler) error {
	resolution, answered, err := c.router.Resolve(r.Exchange, r.endpoint.mode, r.endpoint.writes)
	principal := resolution.Principal
	r.Exchange.Principal, r.Exchange.KeyName, r.Administrator = principal.ARN, principal.KeyName, principal.Role == accesskey.RoleAdmin
	if err != nil || answered {
		return err
	}
	r.Resolution = resolution
	return next(r)
}

func (c *chain) limitRate(r *request, next handler) error {
	if err := c.rates.Take(r.Resolution.Principal, c.now()); err != nil {
		return err
	}
	return next(r)
}

func authorize(r *request, next handler) error {
	if r.endpoint.unknown != nil {
		return r.endpoint.unknown
	}
	r.Audited = r.endpoint.audited || r.endpoint.role == accesskey.RoleAdmin
	principal := r.Resolution.Principal
	if r.endpoint.ownHost && principal.HostID != "" {
		return next(r)
	}
	if err := principal.RequireRole(r.endpoint.role, r.endpoint.name); err != nil {
		return err
	}
	if r.endpoint.mode == leader.StaleAllowed {
		if err := leader.CheckStale(r.Request); err != nil {
			return err
		}
	}
	if err := r.endpoint.scope.Admits(principal, r.endpoint.name); err != nil {
		return err
	}
	return next(r)
}

func (c *chain) decode(r *request, next handler) (err error) {
	if err = httpx.Decompress(r.Exchange); err != nil {
		return err
	}
	if r.call, err = r.endpoint.bind(r); err != nil {
		return err
	}
	if r.endpoint.list {
		if err := c.limits.HoldList(r.Exchange, r.Resolution.Principal.SlotOwner()); err != nil {
			return err
		}
	}
	return next(r)
}

func (c *chain) changeOnce(r *request, next handler) error {
	if !r.endpoint.writes {
		return next(r)
	}
	r.Writes = true
	repeated, err := c.replay.Do(r.Context(), c.now(), auth.Change{
		Principal: r.Resolution.Principal, ClientToken: r.call.clientToken, Repeatable: r.endpoint.repeats,
		Recorded: func(signature spec.Signature) bool {
			return c.used != nil && c.used(signature, sigv4.SignedAt(r.Request))
		},
		Make: func(signature spec.Signature) (*httpx.Answer, error) {
			if signature != (spec.Signature{}) {
				r.Request = r.Request.WithContext(spec.WithSignatures(r.Context(), signature))
			}
			if err := next(r); err != nil {
				return nil, err
			}
			return r.Answer(), nil
		},
	})
	if repeated != nil {
		r.Writes = false
		r.ReplyAgain(repeated)
	}
	return err
}

// run is the endpoint itself.
func run(r *request) error { return r.call.run(r.Context()) }
