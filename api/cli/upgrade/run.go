package upgrade

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/upgrade/rolling"
	"pinion/api/client"
	"pinion/api/upgrade"
)

const (
	// pollInterval is the time between two looks at the pool.
	pollInterval = 500 * time.Millisecond
	// patience is how long, beyond the time of the new program, a host may not answer, and a pool may not be well again, before the command gives up.
	patience = 2 * time.Minute
)

// run upgrades one step after the other until all hosts have the program, or one has failed.
func (p *pool) run(ctx context.Context) error {
	if err := p.watch(ctx); err != nil {
		return err
	}
	for since, told := p.inv.Now(), ""; ; {
		decision := rolling.Next(p.states(), p.pace)
		switch decision.Verdict {
		case rolling.Finish:
			return nil
		case rolling.Stop:
			return p.stopped(decision)
		case rolling.Start:
			for _, id := range decision.Start {
				p.start(p.host(id))
			}
		}
		if p.underWay() > 0 {
			since = p.inv.Now()
		} else if decision.Why != told {
			p.inv.Notef("waiting: %s", decision.Why)
			told = decision.Why
		}
		if limit := p.timeout + p.pace.Dwell + patience; p.inv.Now().Sub(since) > limit { // whatever it waits for by turns: a host may crash again and again
			return exit.Errorf(exit.Failure, "stopped: nothing went on for %s: %s. %s have the program. When that is mended, the same command goes on; with --on-host for the others it leaves a host out", limit, decision.Why, p.progress())
		}
		if err := p.inv.Sleep(ctx, pollInterval); err != nil {
			return err
		}
		if err := p.poll(ctx); err != nil {
			return err
		}
	}
}

// states are the hosts as a decision takes them.
func (p *pool) states() (all []rolling.Host) {
	for _, m := range p.hosts {
		all = append(all, m.Host)
	}
	return all
}

func (p *pool) host(id string) *member {
	for _, m := range p.hosts {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (p *pool) count(state rolling.State) (n int) {
	for _, m := range p.hosts {
		if m.State == state {
			n++
		}
	}
	return n
}

func (p *pool) underWay() int { return p.count(rolling.UnderWay) }

// progress is how many of the hosts have the program, for people.
func (p *pool) progress() string {
	return fmt.Sprintf("%d of %s", p.count(rolling.Done), format.Plural(len(p.hosts)-p.count(rolling.Left), "host"))
}

// start makes a host one that is under way; look asks it to begin.
func (p *pool) start(m *member) {
	m.State, m.attempt, m.asked, m.heard, m.phase = rolling.UnderWay, rand.Text(), false, p.inv.Now(), ""
	m.before = m.now
	p.goal, p.asked = nil, false
	p.printStep(m, "begun", "")
}

// poll reads what the pool and the hosts that are under way say.
func (p *pool) poll(ctx context.Context) error {
	for _, m := range p.hosts {
		if m.State != rolling.UnderWay {
			continue
		}
		status, err := p.ask(ctx, m)
		if err == nil {
			m.status, m.heard, m.asked = status, p.inv.Now(), true
		}
		p.record(m, err)
	}
	hosts, err := p.servers.hosts(ctx)
	if err != nil {
		return err
	}
	var now []*member // hosts join and leave meanwhile
	for _, h := range hosts {
		m := p.host(h.ID)
		if m == nil {
			m = &member{Host: rolling.Host{ID: h.ID, Name: format.Plain(h.Name), State: rolling.Left}}
		}
		m.learn(h)
		now = append(now, m)
	}
	p.hosts = now
	return p.watch(ctx)
}

// ask asks a host how far it is, or to begin, as long as it has not answered to that.
func (p *pool) ask(ctx context.Context, m *member) (upgrade.Status, error) {
	if m.asked {
		return p.servers.status(ctx, m.ID)
	}
	r := upgrade.Request{ID: m.attempt, Timeout: int64(p.timeout / time.Second)}
	if m.status.UptimeMS > 0 { // versions that do not say it refuse what they do not know
		r.Problems = m.before
	}
	if p.program != nil {
		r.Image, r.Digest, r.Program, r.Signature = p.image.Name, p.image.Digest, p.program.digest, string(p.program.signature)
	}
	return p.servers.begin(ctx, m.ID, r, p.program == nil)
}

// record says how far a host is, from what it has answered. A host that does not answer has an end by itself, of which it tells when it is back.
func (p *pool) record(m *member, err error) {
	last, failed := m.status.Last, ""
	switch {
	case err != nil && client.IsUnavailable(err):
		if silent := p.inv.Now().Sub(m.heard); silent > p.timeout+patience {
			failed = fmt.Sprintf("it has not answered for %s: %v", silent.Round(time.Second), err)
		}
	case err != nil:
		failed = err.Error()
	case last == nil || last.ID != m.attempt:
		failed = "it knows of no such upgrade: it was started again before anything was changed, or somebody else upgrades it"
	case last.State == upgrade.Staging || last.State == upgrade.Checking:
		if last.State != m.phase {
			m.phase, m.since = last.State, p.inv.Now()
		}
		limit := upgrade.FetchTimeout
		if last.State == upgrade.Checking {
			limit = p.timeout
		}
		if took := p.inv.Now().Sub(m.since); took > limit+patience {
			failed = fmt.Sprintf("it is %s for %s: its guard may be gone. `sudo pinion upgrade status` there says more, and a start anew of the host goes back", last.State, took.Round(time.Second))
		}
	case last.State == upgrade.Confirmed && last.To.Digest == m.status.Running.Digest:
		m.State, m.unwell, m.ran = rolling.Done, p.inv.Now(), m.status.Running.Digest
		p.printStep(m, "done", "")
	case last.State == upgrade.Confirmed:
		failed = "another program was started since"
	default:
		failed = fmt.Sprintf("%s: %s", last.State, last.Reason)
	}
	if failed != "" {
		p.fail(m, failed)
	}
}

func (p *pool) fail(m *member, reason string) {
	m.State, m.Reason = rolling.Failed, format.Plain(reason)
	p.printStep(m, "failed", m.Reason)
}

// stopped is the error of an upgrade that a host has ended.
func (p *pool) stopped(d rolling.Decision) error {
	m := p.host(d.Failed)
	return exit.Errorf(exit.Failure, "stopped: %s: %s. It runs %s; %s have the program. Its log says more (journalctl -u pinion, and upgrade.log of its data directory). The same command goes on when that is mended; `pinion upgrade rollback --all` puts the others back",
		m.Name, m.Reason, format.Plain(m.status.Running.Version), p.progress())
}
