package httpx

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"pinion/api/audit"
	"pinion/api/wire"
)

const requestIDHeader = "x-amzn-RequestId"

// AccessLog is the outermost middleware. It gives each request an id and an Exchange, turns a panic into a 500 that names
// the id, and logs the request when it is over: writes at info, everything else at debug; never a body, a header or a query,
// because they may hold secrets. Refusals and what administrators do go to the audit log too; observe, if it is not nil, is told of each request
// of a client.
func AccessLog(log *slog.Logger, record *audit.Log, observe Observe, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		x := &Exchange{ResponseWriter: w, ID: NewUUID(), Log: log, Format: JSON, status: http.StatusOK}
		r = r.WithContext(x.context(r))
		x.Request = r
		// The deadline of the previous response on this connection would still hold.
		_ = http.NewResponseController(w).SetWriteDeadline(start.Add(WriteTimeout))
		w.Header().Set(requestIDHeader, x.ID)
		defer func() {
			defer x.releaseAll()
			defer func() {
				x.logAccess(r, time.Since(start))
				x.audit(record)
				x.observe(observe, start)
			}()
			if cause := recover(); cause != nil {
				x.recovered(r, cause)
			}
		}()
		next.ServeHTTP(x, r)
	})
}

// Observe is told of a request of a client: its operation, the status of its response, and how long that took to begin.
type Observe func(operation string, status int, took time.Duration)

// observe tells of the request, unless another host has sent it: that one tells of it.
func (x *Exchange) observe(observe Observe, start time.Time) {
	if observe == nil || x.Origin.Peer.HostID != "" {
		return
	}
	began := x.began
	if began.IsZero() {
		began = time.Now()
	}
	observe(x.Operation, x.status, began.Sub(start))
}

// logAccess logs who did what.
func (x *Exchange) logAccess(r *http.Request, took time.Duration) {
	level := slog.LevelDebug
	if x.Writes && x.status == http.StatusOK {
		level = slog.LevelInfo
	}
	if !x.Log.Enabled(context.Background(), level) {
		return
	}
	x.Log.LogAttrs(context.Background(), level, "request", slog.String("operation", x.Operation), slog.String("principal", x.Principal),
		slog.Int("status", x.status), slog.Duration("took", took), slog.String("requestId", x.ID), slog.Int("bytes", x.bytes),
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("from", r.RemoteAddr))
}

// refusals are the types of errors that say that the caller may not: the credentials, what they are for, or a limit.
var refusals = []string{
	wire.AccessDenied, LimitExceeded, Throttled, Replayed, "MissingAuthenticationTokenException", "IncompleteSignatureException",
	"UnrecognizedClientException", "InvalidSignatureException", wire.ExpiredSecurityToken,
}

// audit records a refusal, and whatever is audited in any case. What is wrong in a request of nobody known is a refusal, whatever its type:
// strangers decide how much of it there is.
func (x *Exchange) audit(record *audit.Log) {
	refused := x.refusal != nil && (slices.Contains(refusals, x.refusal.Type) || x.Audited && x.Principal == "")
	if record == nil || x.Forwarded || !refused && !x.Audited {
		return
	}
	e := audit.Line{
		Outcome: audit.Done, Principal: x.Principal, KeyName: x.KeyName, Address: x.ClientAddress(), Via: x.Origin.Peer.HostID, Operation: x.Operation, RequestID: x.ID, Status: x.status,
		Administrator: x.Administrator,
	}
	if x.refusal != nil {
		e.Outcome, e.Error, e.Message = audit.Failed, x.refusal.Type, x.refusal.Message
	}
	if refused {
		e.Outcome = audit.Refused
	}
	record.Record(e)
}

// ClientAddress is where a request came from, before the host that forwarded it.
func (x *Exchange) ClientAddress() string {
	switch address := x.Request.RemoteAddr; {
	case x.Origin.Client != "":
		return x.Origin.Client
	case address == "" || strings.HasPrefix(address, "@"):
		return socketAddress
	default:
		return address
	}
}

// LimitAddress is the address that a request counts for where clients have a part of something each. The word of an agent counts for nothing there: the
// requests that it forwards are its own.
func (x *Exchange) LimitAddress() string {
	if x.Origin.Peer.HostID != "" && !x.Origin.Peer.Server {
		return x.Request.RemoteAddr
	}
	return x.ClientAddress()
}

func (x *Exchange) recovered(r *http.Request, cause any) {
	if cause == http.ErrAbortHandler {
		panic(cause) // a stream that broke off: the server closes the connection
	}
	x.Log.Error("a request handler panicked", "requestId", x.ID, "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	if x.Wrote() {
		panic(http.ErrAbortHandler)
	}
	x.Format = JSON
	x.Refuse(wire.Errorf(wire.Server, "An internal error occurred. The host's log has it under request id %s.", x.ID))
}

// NewUUID is a random UUID (version 4), as requests and what is made have for ids.
func NewUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
