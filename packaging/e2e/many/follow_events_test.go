package many

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"pinion/api/client"
	"pinion/packaging/testbed"
)

// eventFollower follows the events of one kind, at any host that answers, from one to the next without a gap.
type eventFollower struct {
	mu   sync.Mutex
	seen []seenEvent
}

// seenEvent is an event of a host or a leader, and when it came.
type seenEvent struct {
	host, change string
	at           time.Time
}

// followEvents follows from now on until the test ends. It is through its first host once it returns.
func (p *pool) followEvents(t *testing.T, kind string) *eventFollower {
	f := new(eventFollower)
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	t.Cleanup(func() { cancel(); done.Wait() })
	began := make(chan struct{})
	done.Go(func() {
		q := client.EventQuery{Types: kind, Follow: true}
		begun := sync.OnceFunc(func() { close(began) })
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			p.followAt(ctx, p.Hosts()[i%len(p.Hosts())], &q, func(e client.Event) { begun(); f.note(e) })
			select { // the host was killed, or cannot answer yet
			case <-again.C:
			case <-ctx.Done():
			}
		}
	})
	eventually(t, "a host tells events", func() bool {
		select {
		case <-began:
			return true
		default:
			return false
		}
	})
	return f
}

// followAt follows at one host until it does not answer, and says in the query where to go on.
func (p *pool) followAt(ctx context.Context, h *testbed.Host, q *client.EventQuery, note func(client.Event)) {
	c, err := p.client(h)
	if err != nil {
		return
	}
	err = c.Events(ctx, *q, func(e client.Event) error {
		if e.ID != "" {
			q.Since = e.ID
		}
		note(e)
		return nil
	})
	if _, refused := errors.AsType[*client.APIError](err); refused {
		q.Since = "" // the pool was recovered, or the change is not remembered
	}
}

func (f *eventFollower) note(e client.Event) {
	var envelope struct {
		Detail struct {
			Machine string `json:"ec2InstanceId"`
			Host    string `json:"host"`
			Change  string `json:"change"`
		} `json:"detail"`
	}
	if e.Type == "" || json.Unmarshal(e.Data, &envelope) != nil {
		return
	}
	d := envelope.Detail
	if e.Type == "leader" {
		d.Machine, d.Change = d.Host, "LEADER"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, seenEvent{d.Machine, d.Change, time.Now()})
}

// wait waits for such an event of the host, of any when it is empty, and takes it away.
func (f *eventFollower) wait(t *testing.T, host, change string) (at time.Time) {
	t.Helper()
	eventually(t, "the event "+change+" of "+host, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, e := range f.seen {
			if (host == "" || e.host == host) && e.change == change {
				at, f.seen = e.at, slices.Delete(f.seen, i, i+1)
				return true
			}
		}
		return false
	})
	return at
}
