package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/upgrade/rolling"
	"pinion/api/client"
	"pinion/api/upgrade"
	"pinion/packaging/signature"
)

// pool is the upgrade of a pool, or a rollback, as one run of the command carries it out. What has been done is what the hosts say: a run that was broken off is gone
// on with by another one.
type pool struct {
	*servers
	inv     *invocation.Invocation
	program *program // nil: the previous program
	pace    rolling.Pace
	timeout time.Duration // in which a host has to be ready
	hosts   []*member
	image   client.PinnedImage // with the program, once it is in the pool
	goal    *uint64            // index that the leader had applied when the last step ended; nil: not known yet, or its version does not say
	asked   bool               // the leader was asked for the goal, and has answered
}

// maxAtOnce bounds the hosts that are asked at a time.
const maxAtOnce = 32

// find finds out which hosts get the program, and how far each of them is.
func (p *pool) find(ctx context.Context, only []string) error {
	hosts, err := p.servers.hosts(ctx)
	if err != nil {
		return err
	}
	if hosts, err = selected(hosts, only); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(maxAtOnce)
	names := invocation.NamesOf(hosts)
	asked := make([]bool, len(hosts))
	for i, h := range hosts {
		m := &member{Host: rolling.Host{ID: h.ID, Name: format.Plain(names[h.ID]), State: rolling.Left}}
		m.learn(h)
		m.before = m.now
		p.hosts = append(p.hosts, m)
		if len(only) > 0 && !slices.Contains(only, h.ID) {
			continue
		}
		if m.away = !m.Connected; m.away {
			continue
		}
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, answerTimeout)
			defer cancel()
			if err := p.inv.Client.Get(ctx, "/v1/"+hostPath(h.ID), nil, &m.status); err != nil {
				return fmt.Errorf("%s: %w. A host of an earlier version is upgraded there, with `sudo pinion upgrade`", m.Name, err)
			}
			asked[i], m.heard = true, p.inv.Now()
			if m.status.UptimeMS == 0 {
				m.unwell = m.heard
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	leaving := p.leaving()
	for i, m := range p.hosts {
		if asked[i] {
			m.classify(p.program, leaving)
			m.recall()
		}
	}
	return nil
}

// leaving is the digest of the program that a rollback takes away: that of the newest upgrade of all hosts. What an earlier upgrade has brought stays,
// also where the newest one did not come to, or was put back already.
func (p *pool) leaving() string {
	var newest *upgrade.Attempt
	for _, m := range p.hosts {
		if last := m.status.Last; last != nil && (newest == nil || last.At.After(newest.At)) {
			newest = last
		}
	}
	switch {
	case newest == nil:
		return ""
	case newest.Rollback:
		return newest.From.Digest
	}
	return newest.To.Digest
}

// selected replaces the names in only by ids.
func selected(hosts []client.Host, only []string) ([]client.Host, error) {
	for i, given := range only {
		at := slices.IndexFunc(hosts, func(h client.Host) bool { return h.ID == given || h.Name == given })
		if at < 0 {
			return nil, fmt.Errorf("no host has the name or the id %q; `pinion hosts` lists them", given)
		}
		only[i] = hosts[at].ID
	}
	return hosts, nil
}

// check refuses what would stop halfway, before anything is changed.
func (p *pool) check() error {
	verified := map[string]error{}
	for _, m := range p.hosts {
		if m.Role != rolling.Agent && !m.Connected {
			return exit.Errorf(exit.Failure, "nothing was changed: the server %s is not in contact with the pool. Bring it back, or remove it (pinion hosts rm), and try again", m.Name)
		}
		if m.State != rolling.Pending || p.program == nil {
			continue
		}
		if m.arch != p.program.architecture {
			return exit.Errorf(exit.Failure, "nothing was changed: %s is a host for %s, and %s is a program for %s. A pool with several processors gets one file for each: upgrade the hosts of one after those of the other, with --on-host, at a host of theirs (--host)",
				m.Name, m.arch, p.program.file.Name(), p.program.architecture)
		}
		keys := strings.Join(m.status.Keys, " ")
		err, known := verified[keys]
		if !known {
			err = p.program.verify(m.status.Keys)
			verified[keys] = err
		}
		if err != nil {
			return exit.Errorf(exit.Failure, "nothing was changed: %s refuses the program: %v", m.Name, err)
		}
	}
	return nil
}

// verify checks the signature as a host with these keys does.
func (p *program) verify(lines []string) error {
	keys, err := signature.ParseKeys(lines)
	if err == nil {
		_, err = p.file.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = signature.Verify(p.file, p.signature, keys)
	}
	return err
}

// event is a line of -o json.
type event struct {
	At      time.Time `json:"at"`
	Host    string    `json:"host"` // its name
	ID      string    `json:"id"`
	Event   string    `json:"event"` // begun, done, failed, or away
	Version string    `json:"version,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// printStep prints what has become of a host.
func (p *pool) printStep(m *member, what, reason string) {
	version := format.Plain(m.status.Running.Version)
	if p.inv.Output == invocation.JSON {
		var line bytes.Buffer
		if json.NewEncoder(&line).Encode(event{p.inv.Now().UTC(), m.Name, m.ID, what, version, reason}) == nil {
			p.inv.Out.Write(line.Bytes())
		}
		return
	}
	if reason != "" {
		reason = ": " + reason
	}
	fmt.Fprintf(p.inv.Out, "%s  %-8s %s%s\n", m.Name, what, version, reason)
}
