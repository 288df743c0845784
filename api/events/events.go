// Package events is GET /v1/events: the changes of the state as server-sent events, in the envelopes of Amazon EventBridge.
package events

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/api/audit"
	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
)

// History is the log of recent changes in this host's copy of the state.
type History interface {
	// Changes are those after a mark, the oldest first, at most so many; when there are none, more is closed at the next
	// one. A *raftfsm.CompactedError when there is a gap, spec.ErrUnavailable when this host holds no state.
	Changes(after raftfsm.Position, most int) (changes []*raftfsm.Change, more <-chan struct{}, err error)
}

// Handler serves streams of events. It is safe for concurrent use.
type Handler struct {
	History History           // nil, or Local is: there are no events on this host
	Local   leader.LocalState // the copy of the state that History belongs to
	Shared  *Shared
	Stop    httpx.Stop

	// Audit is where the refusals of this host come from; Refusal is one as JSON in the envelope, with the ARNs of a region.
	Audit   *audit.Log
	Refusal func(e audit.Line, region string) ([]byte, error)
}

// refusalKind is the kind of events that tell administrators what this host refuses. They are of the host and not of the state, so
// they have no id: nothing that is sent to Pinion adds to the state because it is refused.
const refusalKind = "refusal"

// maxStreams is how many streams are open at once; each has a buffer of some 64 KiB.
const maxStreams = 1000

// Shared is what the streams of all listeners of one process share.
type Shared struct {
	Streams httpx.OwnerSemaphore // that are open
	cache   encodedEventCache
}

// NewShared allows the usual number of streams.
func NewShared(envelope Envelope) *Shared {
	return &Shared{Streams: httpx.OwnerSemaphore{Size: maxStreams}, cache: encodedEventCache{envelope: envelope}}
}

// lagTimeout is how long a host waits for an index that it has not seen yet when a client asks to resume after it.
const lagTimeout = 5 * time.Second

// query is what a client subscribes to.
type query struct {
	cluster string // empty: all
	task    string // id of a task: only its changes; empty: all
	kinds   []raftfsm.ChangeKind
	after   raftfsm.Position
	oldest  bool // begin at the oldest change that is remembered
	follow  bool

	refusals bool
}

// matches reports whether a change is subscribed to.
func (q *query) matches(c *raftfsm.Change) bool {
	return (q.cluster == "" || q.cluster == c.ClusterName) && slices.Contains(q.kinds, c.Kind) && (q.task == "" || q.task == taskID(c))
}

// taskID is the id of the task that has changed, empty for another kind of object.
func taskID(c *raftfsm.Change) string {
	if task := c.Task(); task != nil {
		return task.ID
	}
	return ""
}

// Serve streams events until the client leaves or this host stops.
func (h *Handler) Serve(x *httpx.Exchange, res leader.Resolution) error {
	if h.History == nil || h.Local == nil {
		return wire.Errorf(wire.Client, "pinion: events are not supported here: this host keeps no record of changes")
	}
	q, err := h.parseQuery(x.Request, res)
	if err != nil {
		return err
	}
	if q.refusals {
		x.Audited = true
		if err := mayFollowRefusals(res.Principal, q); err != nil {
			return err
		}
	}
	release, free := h.Shared.Streams.TryAcquire(res.Principal.SlotOwner())
	if !free {
		return httpx.ErrThrottled("followers of events")
	}
	defer release()
	ctx, cancel := h.Stop.Context(x.Context())
	defer cancel()
	st := &stream{handler: h, x: x, control: x.Controller(), principal: res.Principal, view: res.View, query: q, at: q.after}
	if q.refusals {
		var stop func()
		st.refusals, stop = h.Audit.Follow()
		defer stop()
	}
	return st.run(ctx)
}

// mayFollowRefusals refuses those who do not administer the whole pool, and a query for what is not remembered.
func mayFollowRefusals(p auth.Principal, q *query) error {
	const operation = "GET /v1/events?type=refusal"
	if err := p.RequireRole(accesskey.RoleAdmin, operation); err != nil {
		return err
	}
	if err := p.RequireUnscoped(operation); err != nil {
		return err
	}
	if !q.follow {
		return wire.Errorf(wire.InvalidParameter, "Refusals are told as they happen: leave out follow=false. `pinion audit` on a host shows those before.")
	}
	return nil
}

// parseQuery reads a request, and waits until this host has seen what the client has seen.
func (h *Handler) parseQuery(r *http.Request, res leader.Resolution) (*query, error) {
	cluster, err := res.Principal.ClusterOf(r)
	if err != nil {
		return nil, err
	}
	parameters := r.URL.Query()
	q := &query{cluster: cluster, task: parameters.Get("task"), kinds: raftfsm.ChangeKinds, follow: true, after: raftfsm.PositionAfter(res.View.Index())}
	if text := parameters.Get("follow"); text != "" {
		if q.follow, err = strconv.ParseBool(text); err != nil {
			return nil, wire.Errorf(wire.InvalidParameter, "follow must be true or false, not %q.", text)
		}
	}
	if text := parameters.Get("type"); text != "" {
		if q.kinds, q.refusals, err = parseKinds(text); err != nil {
			return nil, err
		}
	}
	since := parameters.Get("since")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		since = last
	}
	if since == "" {
		if !q.follow {
			q.after, q.oldest = raftfsm.Position{}, true
		}
		return q, nil
	}
	q.after, err = h.resume(r.Context(), since, res.View)
	return q, err
}

func parseKinds(text string) (kinds []raftfsm.ChangeKind, refusals bool, err error) {
	for name := range strings.SplitSeq(text, ",") {
		kind := raftfsm.ChangeKind(strings.TrimSpace(name))
		switch {
		case kind == refusalKind:
			refusals = true
		case !slices.Contains(raftfsm.ChangeKinds, kind):
			return nil, false, wire.Errorf(wire.InvalidParameter, "type must be of task, host, cluster, gpu, leader, service, service-action, deployment, hook and refusal, with commas between, not %q.", name)
		default:
			kinds = append(kinds, kind)
		}
	}
	return kinds, refusals, nil
}

// resume returns the mark to resume after. This host may lag behind the one that named it; then it waits up to lagTimeout.
func (h *Handler) resume(ctx context.Context, since string, view *raftfsm.View) (raftfsm.Position, error) {
	mark, incarnation, err := parseID(since)
	if err != nil {
		return mark, err
	}
	now := view.Settings().Incarnation
	if incarnation > now {
		return mark, wire.Errorf(wire.InvalidParameter, "since %s is no event of this pool: the last number is how often the pool was begun or recovered, which is %d. Leave it out of an index that you type.", since, now)
	}
	if incarnation != 0 && incarnation != now {
		return mark, wire.Errorf(httpx.Gone, "Event %s is from before the pool was recovered, and what it knew last may not hold any more: list what there is again, and go on from now.", since)
	}
	ctx, cancel := context.WithTimeout(ctx, lagTimeout)
	defer cancel()
	for mark.Index > view.Index() {
		_, more, err := h.History.Changes(raftfsm.PositionAfter(view.Index()), 1)
		if err != nil && !errors.As(err, new(*raftfsm.CompactedError)) { // a host that lags far behind skips changes
			return mark, err
		}
		if view, err = h.Local.StaleView(); err != nil {
			return mark, err
		}
		if mark.Index <= view.Index() {
			break
		}
		select {
		case <-more:
		case <-ctx.Done():
			return mark, wire.Errorf(wire.Server, "This host has seen changes up to index %d, and not %s: it lags behind, or there never was such an event. Try again, or ask another host.", view.Index(), since)
		}
	}
	return mark, nil
}

// errCompacted refuses changes that are not remembered any more.
func errCompacted(err error) error {
	if f, ok := errors.AsType[*raftfsm.CompactedError](err); ok {
		return wire.Errorf(httpx.Gone, "%s", sentence(f.Error()))
	}
	return err
}

// sentence begins a text with a capital letter and ends it with a full stop.
func sentence(text string) string { return fmt.Sprintf("%s%s.", strings.ToUpper(text[:1]), text[1:]) }
