package httpx

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"pinion/api/wire"
)

// Content types of responses. The type also selects the form of an error.
const (
	AWSJSON = "application/x-amz-json-1.1"
	JSON    = "application/json"
)

// Exchange is one request and its response. AccessLog makes it, the endpoint's chain fills it in, and the access log reads
// it when the request is over. It is used by one goroutine at a time.
type Exchange struct {
	http.ResponseWriter
	Request *http.Request
	Origin  Origin
	ID      string       // of the request, in the response and in every log line about it
	Log     *slog.Logger // of the host
	Format  string       // content type of the response: AWSJSON or JSON
	Body    []byte       // of the request: as it was sent until Decompress, then what it means
	Upload  bool         // Body is empty: the endpoint reads Request.Body, which is too large to be held

	// For the access log.
	Operation string // "RunTask", or the method and path of a route
	Principal string // ARN; empty until the request is authenticated
	Writes    bool   // the request was authorized to change the state

	Auditing

	refusal *wire.Error // what was replied; nil: no error

	status int
	bytes  int
	began  time.Time // the response; zero: it has not
	answer Answer    // the last that ReplyEncoded wrote

	held
}

// held is what a request holds of Limits.
type held struct {
	inFlight func()            // releases the slot of a request that is worked on, may be called more than once; nil: it has none
	onHeader []func()          // release what is held until the response begins: the slots of a list, and of a request that waits
	answers  *AddressSemaphore // nil: unlimited
	onEnd    []func()          // release what is held until the response is over: the slots of an open request, of a large body and of a large answer
}

// Auditing is what the audit log has to know of a request.
type Auditing struct {
	KeyName       string // what the access key is for, as its name says
	Administrator bool   // the role of the access key is admin
	Audited       bool   // whatever becomes of it: the operation is an administrator's, or a login
	Forwarded     bool   // another host has decided on it, and records it
}

// exchangeKey is the key of the Exchange in a request's context.
type exchangeKey struct{}

// FromRequest returns the exchange that AccessLog made for r. It panics when r did not pass through AccessLog.
func FromRequest(r *http.Request) *Exchange { return r.Context().Value(exchangeKey{}).(*Exchange) }

func (x *Exchange) context(r *http.Request) context.Context {
	return context.WithValue(r.Context(), exchangeKey{}, x)
}

// InContext is the exchange of a request by its context; nil when that is of none.
func InContext(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// Context is the context of the request: it ends when the client is gone.
func (x *Exchange) Context() context.Context { return x.Request.Context() }

// Controller reaches the connection, to flush and to set deadlines.
func (x *Exchange) Controller() *http.ResponseController { return http.NewResponseController(x) }

// Wrote reports whether the response has begun: from then on an error can only break the connection.
func (x *Exchange) Wrote() bool { return !x.began.IsZero() }

// WriteHeader begins the response. The work is done by then and the client sets the pace, so the slot among the requests
// in flight is released here.
func (x *Exchange) WriteHeader(status int) {
	if !x.Wrote() {
		x.status, x.began = status, time.Now()
		x.releaseWork()
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write begins the response with status 200 when nothing was written before.
func (x *Exchange) Write(p []byte) (int, error) {
	if !x.Wrote() {
		x.WriteHeader(http.StatusOK)
	}
	n, err := x.ResponseWriter.Write(p)
	x.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// releaseAll releases every slot that the request still holds.
func (h *held) releaseAll() {
	h.releaseWork()
	for _, release := range h.onEnd {
		release()
	}
	h.onEnd = nil
}

// releaseWork releases the slots of a request whose response begins.
func (h *held) releaseWork() {
	if h.inFlight != nil {
		h.inFlight()
	}
	for _, release := range h.onHeader {
		release()
	}
	h.onHeader = nil
}
