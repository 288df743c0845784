package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm"
)

// lagTimeout is how long a host that is asked to go on after an index that it has not seen yet waits for it.
const lagTimeout = 5 * time.Second

// eventQuery is what a follower wants to hear of.
type eventQuery struct {
	cluster string // empty: all
	kinds   []raftfsm.ChangeKind
	after   raftfsm.Position
	oldest  bool // what is not remembered any more is not missed
	follow  bool
}

// wants says whether a change is one to tell.
func (q *eventQuery) wants(c *raftfsm.Change) bool {
	return (q.cluster == "" || q.cluster == c.ClusterName) && slices.Contains(q.kinds, c.Kind)
}

// near finds the state to answer from on any host that has one: its own, which follows the log. It may lag behind, so who
// is refused by it, and who asks a host without one, is answered by the leader.
func (d *door) near(w http.ResponseWriter, r *http.Request, body []byte) (caller, error) {
	if who, err := d.here(r, body); err == nil {
		return who, nil
	}
	return d.reach(w, r, body)
}

// events tells what changes, as server-sent events, until the client leaves or this host stops.
func (d *door) events(w http.ResponseWriter, r *http.Request, who caller, _ []byte) error {
	if d.History == nil || d.Local == nil {
		return wire.Errorf(wire.Client, "pinion: events are not supported here: this host keeps no record of changes")
	}
	query, err := d.eventQuery(r, who)
	if err != nil {
		return err
	}
	leave, free := d.Limits.eventStreams.tryAcquire()
	if !free {
		return errThrottled("followers of events")
	}
	defer leave()
	ctx, cancel := d.untilClosing(r.Context())
	defer cancel()
	f := &follower{door: d, w: w, control: http.NewResponseController(w), who: who, query: query, at: query.after}
	return f.run(ctx)
}

// eventQuery reads a request, and waits until this host has seen what the client has seen.
func (d *door) eventQuery(r *http.Request, who caller) (*eventQuery, error) {
	cluster, err := who.clusterOf(r)
	if err != nil {
		return nil, err
	}
	given := r.URL.Query()
	q := &eventQuery{cluster: cluster, kinds: raftfsm.ChangeKinds, follow: true, after: raftfsm.PositionAfter(who.view.Index())}
	if text := given.Get("follow"); text != "" {
		if q.follow, err = strconv.ParseBool(text); err != nil {
			return nil, wire.Errorf(wire.InvalidParameter, "follow must be true or false, not %q.", text)
		}
	}
	if text := given.Get("type"); text != "" {
		if q.kinds, err = kindsOf(text); err != nil {
			return nil, err
		}
	}
	since := given.Get("since")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		since = last
	}
	if since == "" {
		if !q.follow {
			q.after, q.oldest = raftfsm.Position{}, true
		}
		return q, nil
	}
	q.after, err = d.resume(r.Context(), since, who.view)
	return q, err
}

func kindsOf(text string) (kinds []raftfsm.ChangeKind, err error) {
	for name := range strings.SplitSeq(text, ",") {
		kind := raftfsm.ChangeKind(strings.TrimSpace(name))
		if !slices.Contains(raftfsm.ChangeKinds, kind) {
			return nil, wire.Errorf(wire.InvalidParameter, "type must be of task, host, cluster and gpu, with commas between, not %q.", name)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// resume is the mark to go on after. This host may lag behind the one that told it; then it waits a while.
func (d *door) resume(ctx context.Context, since string, view *raftfsm.View) (raftfsm.Position, error) {
	mark, incarnation, err := parseEventID(since)
	if err != nil {
		return mark, err
	}
	if now := view.Settings().Incarnation; incarnation != 0 && incarnation != now {
		return mark, wire.Errorf(gone, "Event %s is from before the pool was recovered, and what it knew last may not hold any more: list what there is again, and go on from now.", since)
	}
	ctx, cancel := context.WithTimeout(ctx, lagTimeout)
	defer cancel()
	for mark.Index > view.Index() {
		_, more, err := d.History.Changes(raftfsm.PositionAfter(view.Index()), 1)
		if err != nil && !errors.As(err, new(*raftfsm.CompactedError)) { // one that lags far behind jumps
			return mark, err
		}
		if view, err = d.Local.StaleView(); err != nil {
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

// eventID is what a client goes on after: INDEX-PLACE, and -INCARNATION of a pool that was recovered.
func eventID(mark raftfsm.Position, incarnation int) string {
	id := strconv.FormatUint(mark.Index, 10) + "-" + strconv.Itoa(mark.Offset)
	if incarnation != firstIncarnation {
		id += "-" + strconv.Itoa(incarnation)
	}
	return id
}

const firstIncarnation = 1

// parseEventID reads an id, or an index alone, which people type: everything that its entry changed was seen then, and
// incarnation is 0, for any.
func parseEventID(text string) (mark raftfsm.Position, incarnation int, err error) {
	wrong := wire.Errorf(wire.InvalidParameter, "since must be the id of an event such as 1234-0, or an index such as 1234, not %q.", text)
	parts := strings.Split(text, "-")
	index, err := strconv.ParseUint(parts[0], 10, 64)
	if err != nil || len(parts) > 3 {
		return mark, 0, wrong
	}
	numbers := []int{0, firstIncarnation}
	for i, part := range parts[1:] {
		number, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return mark, 0, wrong
		}
		numbers[i] = int(number)
	}
	if len(parts) == 1 {
		return raftfsm.PositionAfter(index), 0, nil
	}
	return raftfsm.Position{Index: index, Offset: numbers[0]}, numbers[1], nil
}

// errCompacted is the refusal of what is not remembered.
func errCompacted(err error) error {
	if f, ok := errors.AsType[*raftfsm.CompactedError](err); ok {
		return wire.Errorf(gone, "%s", sentence(f.Error()))
	}
	return err
}

// sentence begins a text with a capital letter and ends it with a full stop.
func sentence(text string) string { return fmt.Sprintf("%s%s.", strings.ToUpper(text[:1]), text[1:]) }
