package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/upgrade/rollout"
	"pinion/api/client"
	"pinion/api/upgrade"
	"pinion/packaging/signature"
)

// pool is the upgrade of a pool, or a rollback, as one run of the command carries it out. What has been done is what the hosts say: a run that was broken off is gone
// on with by another one.
type pool struct {
	*servers
	inv     *invocation.Invocation
	program *program // nil: the program of before
	pace    rollout.Pace
	timeout time.Duration // in which a host has to be ready
	hosts   []*member
	image   client.PinnedImage // with the program, once it is in the pool
	goal    *uint64            // index that the leader had applied when the last step ended; nil: not known yet, or its version does not say
	asked   bool               // the leader was asked for the goal, and has answered
}

// member is a host of the pool.
type member struct {
	rollout.Host
	before  []string // problems that it had before
	away    bool     // it was to get the program, and is not in contact with the pool
	status  upgrade.Status
	attempt string        // id, while it is UnderWay
	asked   bool          // the host has answered that it has begun
	heard   time.Time     // of it last
	phase   upgrade.State // of its attempt, as it was heard last
	since   time.Time     // when the phase was heard first
	unwell  time.Time     // when the host was last seen that has not the program, or is not well; zero: not since the command began
	ran     string        // digest of the program that it runs since it is Done
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
		m := &member{Host: rollout.Host{ID: h.ID, Name: format.Plain(names[h.ID]), State: rollout.Left}, before: problems(h)}
		m.learn(h)
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

// problems are what is wrong with a host, for people.
func problems(h client.Host) (all []string) {
	if h.GPUs.Problem != "" {
		all = append(all, "its GPUs: "+h.GPUs.Problem)
	}
	for _, d := range h.GPUs.Devices {
		if d.Health != client.Healthy && d.Health != client.Quarantined {
			all = append(all, fmt.Sprintf("GPU %s is %s", d.Number(), d.Health))
		}
	}
	for _, l := range h.ListenerProblems {
		all = append(all, fmt.Sprintf("its proxy does not serve port %d: %s", l.Port, l.Problem))
	}
	for _, v := range h.VirtualIPs {
		if v.Problem != "" {
			all = append(all, fmt.Sprintf("the virtual IP %s: %s", v.IP, v.Problem))
		}
	}
	return all
}

// learn takes what the pool says of the host.
func (m *member) learn(h client.Host) {
	m.Connected, m.Problem = h.Connected, ""
	switch h.Role {
	case "leader":
		m.Role = rollout.Leader
	case "agent":
		m.Role = rollout.Agent
	default:
		m.Role = rollout.Server
	}
	for _, problem := range problems(h) {
		if !slices.Contains(m.before, problem) {
			m.Problem = format.Plain(problem)
		}
	}
}

// classify says how far the host is when the command begins.
func (m *member) classify(program *program, leaving string) {
	last := m.status.Last
	ours := last != nil && last.ID != "" && last.Rollback == (program == nil) && (program == nil || last.To.Digest == program.digest)
	switch {
	case ours && (last.State == upgrade.Staging || last.State == upgrade.Checking):
		m.State, m.attempt, m.asked = rollout.UnderWay, last.ID, true
	case program == nil && m.status.Before != nil && m.status.Running.Digest == leaving, program != nil && m.status.Running.Digest != program.digest:
		m.State = rollout.Pending
	case program != nil || last != nil && last.State == upgrade.Confirmed:
		m.State, m.ran = rollout.Done, m.status.Running.Digest
	}
}

// check refuses what would stop halfway, before anything is changed.
func (p *pool) check() error {
	verified := map[string]error{}
	for _, m := range p.hosts {
		if m.Role != rollout.Agent && !m.Connected {
			return exit.Errorf(exit.Failure, "nothing was changed: the server %s is not in contact with the pool. Bring it back, or remove it (pinion hosts rm), and try again", m.Name)
		}
		if m.State != rollout.Pending || p.program == nil {
			continue
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

// bring imports the image with the program into the pool. Hosts take it from one another.
func (p *pool) bring(ctx context.Context) error {
	archive, size, err := p.program.archive()
	if err != nil {
		return err
	}
	defer archive.Close()
	imported, err := client.ImportImages(ctx, p.inv.Client, archive, size, p.program.image(), "", func(int) {})
	if err != nil {
		return fmt.Errorf("bringing the program into the pool: %w", err)
	}
	if len(imported) != 1 {
		return errors.New("bringing the program into the pool: the host has not answered with one image; see `pinion image ls`")
	}
	p.image = imported[0]
	return nil
}

// takeAway removes the image again, also that of a run which was broken off: every host has its program.
func (p *pool) takeAway(ctx context.Context) error {
	name := p.program.image()
	var images []client.Image
	err := p.inv.RetryUnavailable(ctx, func() error {
		return p.do(func(c *client.Client) (err error) {
			if images, err = client.Images[client.Image](ctx, c); err == nil && slices.ContainsFunc(images, func(i client.Image) bool { return i.Name == name && i.Kept != nil }) {
				err = client.UnpinImage(ctx, c, name)
			}
			return err
		})
	})
	for _, i := range images {
		if i.Name != name {
			continue
		}
		for _, host := range i.Hosts {
			err = errors.Join(err, p.do(func(c *client.Client) error { return client.RemoveImage(ctx, c, host, i.Digest) }))
		}
	}
	if err != nil {
		return fmt.Errorf("the image %s of the program is left: `pinion image rm %s` removes it: %w", name, name, err)
	}
	return nil
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

// tell prints what has become of a host.
func (p *pool) tell(m *member, what, reason string) {
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
