package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"pinion/raftfsm/spec"
)

const (
	helloTimeout = 5 * time.Second
	// lineTimeout is how long a line may take until the other end has taken it.
	lineTimeout = 5 * time.Second
	// hostSilence is how long a server listens to a host that says nothing; it says something every second.
	hostSilence = 5 * time.Second
)

// desk is a server's side of one session. The server is any server: it answers from its own state and passes on to the
// leader what only the leader can do.
type desk struct {
	member  *Member
	server  *Server
	host    string
	in      *json.Decoder
	control *http.ResponseController

	mu   sync.Mutex // one line at a time
	out  *json.Encoder
	told bulletin
}

// serveSession holds one session until one of the ends goes.
func (m *Member) serveSession(w http.ResponseWriter, r *http.Request, from string) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	d := &desk{member: m, host: from, in: json.NewDecoder(r.Body), out: json.NewEncoder(w), control: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	_ = d.control.Flush()
	if err := d.serve(ctx, cancel); err != nil && ctx.Err() == nil {
		m.log.Debug("a session ended", "host", from, "reason", err)
		_ = d.say(toHost{Fault: faultOf(err)})
	}
}

func (d *desk) serve(ctx context.Context, end context.CancelFunc) error {
	first, err := d.read(helloTimeout)
	if err != nil {
		return err
	}
	if d.server = d.member.own(); d.server == nil {
		d.guide()
		return fmt.Errorf("%w: this host is no server", ErrNotLeader)
	}
	if err := d.welcome(ctx, first); err != nil {
		d.guide()
		return err
	}
	var hands sync.WaitGroup
	defer hands.Wait()
	defer end()
	d.member.crowd.enter()
	defer d.member.crowd.leave()
	hands.Go(func() { d.passAssignments(ctx, end, first.Hello) })
	hands.Go(func() { d.passNews(ctx) })
	for {
		line, err := d.read(hostSilence)
		if err != nil {
			return err
		}
		if line.Seq > 0 {
			hands.Go(func() { _ = d.answer(ctx, line) })
			continue
		}
		if err := d.beat(); err != nil {
			return err
		}
	}
}

// guide tells a host where servers are, as far as this one knows.
func (d *desk) guide() { _ = d.say(toHost{News: &bulletin{Outlook: d.member.book.outlook()}}) }

// welcome lets the host in: it must be who it says, of this incarnation of the pool, and have reported what it runs.
func (d *desk) welcome(ctx context.Context, line toServer) error {
	h := line.Hello
	if h == nil || h.Host.ID != d.host {
		return fmt.Errorf("host %s began its session without saying who it is", d.host)
	}
	if err := d.member.meet(h.Incarnation); err != nil {
		return err
	}
	if err := d.server.reach(ctx, h.After); err != nil {
		return err
	}
	return d.answer(ctx, line)
}

// answer does what a line asks for and says what came of it. The error is that of the first hello.
func (d *desk) answer(ctx context.Context, line toServer) error {
	a := answer{Seq: line.Seq}
	var err error
	switch {
	case line.Hello != nil && line.Hello.Host.ID == d.host:
		a.Unknown, err = d.server.Join(ctx, line.Hello.Host, line.Hello.Running)
	case line.Hello == nil:
		a.Unknown, err = d.server.Report(ctx, d.host, line.Reports)
	default:
		err = fmt.Errorf("host %s calls itself %s", d.host, line.Hello.Host.ID)
	}
	a.Fault = faultOf(err)
	return errors.Join(err, d.say(toHost{Answer: &a}))
}

// beat notes that the host lives and says the same, or that it had better go to another server.
func (d *desk) beat() error {
	if err := d.server.Heartbeat(context.Background(), d.host); err != nil {
		return err
	}
	if d.member.crowd.sendsAway(time.Now(), d.server.keeps) {
		return errCrowded
	}
	if b := d.bulletin(); b != nil {
		return d.say(toHost{News: b})
	}
	return d.say(toHost{})
}

// passAssignments tells the host what it must run: at first in any case, and then when that has changed.
func (d *desk) passAssignments(ctx context.Context, end context.CancelFunc, h *hello) {
	defer end() // a session without assignments is none
	holds, after, ask := h.Holds, h.After, uint64(0)
	for {
		list, index, err := d.server.assignments(ctx, d.host, ask, after)
		if err != nil {
			_ = d.say(toHost{Fault: faultOf(err)})
			return
		}
		step := holds.stepTo(list, index)
		if d.say(toHost{Assignments: &step}) != nil {
			return
		}
		if holds != nil {
			holds = holdingOf(list)
		}
		after, ask = index, index
	}
}

func (d *desk) passNews(ctx context.Context) {
	for {
		looked := d.server.looked.next()
		if b := d.bulletin(); b != nil && d.say(toHost{News: b}) != nil {
			return
		}
		select {
		case <-looked:
		case <-ctx.Done():
			return
		case <-d.server.closing:
			return
		}
	}
}

// bulletin is the news that the host was not told yet, nil when there are none.
func (d *desk) bulletin() *bulletin {
	seen := d.server.outlook.Load()
	if seen == nil {
		return nil
	}
	b := bulletin{Outlook: *seen}
	if host := d.server.state.View().Host(d.host); host != nil {
		b.Server = host.Server
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if equalBulletins(b, d.told) {
		return nil
	}
	d.told = b
	return &b
}

func (d *desk) say(line toHost) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.control.SetWriteDeadline(time.Now().Add(lineTimeout))
	if err := d.out.Encode(line); err != nil {
		return err
	}
	return d.control.Flush()
}

func (d *desk) read(patience time.Duration) (line toServer, err error) {
	_ = d.control.SetReadDeadline(time.Now().Add(patience))
	err = d.in.Decode(&line)
	if errors.Is(err, io.EOF) {
		err = errGone
	}
	return line, err
}

var errGone = fmt.Errorf("the other end has gone: %w", spec.ErrUnavailable)
