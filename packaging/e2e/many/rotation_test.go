package many

import (
	"context"
	"crypto/x509"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"golang.org/x/sync/errgroup"

	"pinion/api/client"
	"pinion/packaging/testbed"
)

var rotations = flag.Int("rotations", 1, "how often the root of the CA is replaced, and the sealing key, while the pool is used")

// testRootRotated replaces the root of the CA while tasks run and clients run more, a leader is killed and a host is away: first the
// pool waits for that host, then it is forced not to.
func (p *pool) testRootRotated(t *testing.T) {
	p.changeSetting(t, "lost-after=10m") // what is away here comes back, however slow the machine is
	defer p.changeSetting(t, "lost-after=1m")
	running := p.startTicking(t, 5, "rotated")
	pids := processesOf(t, running)
	accepted := 0
	for pass := range *rotations {
		accepted += p.rotateAndWait(t, fmt.Sprintf("rotating%d", pass))
		p.rotateByForce(t)
		p.checkUndisturbed(t, running)
		if now := processesOf(t, running); !maps.Equal(now, pids) {
			t.Errorf("the tasks were the processes %v, and are %v", pids, now)
		}
	}
	p.endTicking(t, running)
	recordCount(fmt.Sprintf("tasks accepted over %d rotations of the CA with a killed leader and a host that was away, each run once", *rotations), accepted)
}

// rotateAndWait replaces the root while clients that know the previous root run tasks. The leader is killed as soon as there is another
// root, and a host that is off renews its certificate by itself when it is back.
func (p *pool) rotateAndWait(t *testing.T, family string) (accepted int) {
	t.Helper()
	leader, operator, away := p.leader(t), p.follower(t), p.agent(t)
	before := p.caFile(t, operator)
	must(t, away.Kill(t.Context()))
	l := p.startLoad(t, p.ecsClients(t), family)
	old := p.startObserver(t, before, operator, p.agent(t, away))
	l.waitAccepted(time.Now())

	var rotation errgroup.Group
	rotation.Go(func() error {
		_, err := operator.Pinion("ca", "rotate")
		return err
	})
	eventually(t, "there is another root", func() bool {
		ca, err := p.ca(t, operator)
		return err == nil && ca.Rotating
	})
	must(t, leader.Kill(t.Context()))
	both := p.startObserver(t, p.caFile(t, operator), operator, p.agent(t, away))
	l.waitAccepted(time.Now())
	p.start(t, leader)
	must(t, rotation.Wait())
	eventually(t, "the host that is off is the only one left", func() bool { // the former leader was too, when rotate ended before it was back
		ca, err := p.ca(t, operator)
		return err == nil && ca.Rotating && len(ca.Left) == 1 && ca.Left[0].Name == away.Name
	})

	p.start(t, away)
	eventually(t, "the old root is dropped", func() bool {
		ca, err := p.ca(t, operator)
		return err == nil && !ca.Rotating
	})
	p.waitConverged(t)
	both.check()
	old.check() // for 31 days
	l.waitAccepted(time.Now())
	l.stop()
	return l.check()
}

// rotateByForce replaces the root without waiting for a host that is off. It is named, says what to do when it is back, and comes back
// with a token. Clients that have the bundle of both roots notice nothing, those that have the old one are told to fetch the new one.
func (p *pool) rotateByForce(t *testing.T) {
	t.Helper()
	operator, away := p.follower(t), p.agent(t)
	before := p.caFile(t, operator)
	hosts, err := p.hostsByName(operator)
	must(t, err)
	must(t, away.Kill(t.Context()))
	p.untilDone(t, func() *testbed.Host { return operator }, "ca", "rotate")
	both := p.startObserver(t, p.caFile(t, operator), operator, p.agent(t, away))
	var said strings.Builder
	force := exec.Command(operator.Binary(), "--data-dir", operator.Dir, "ca", "rotate", "--force")
	force.Stderr = &said
	must(t, operator.Run(force))
	if _, cut, _ := strings.Cut(said.String(), "Cut off: "); !strings.HasPrefix(cut, away.Name+".") {
		t.Errorf("%s was off, and the operator is told %q", away.Name, said.String())
	}
	// The operator's host has a certificate without the old root a moment later.
	p.waitRefused(t, operator, fmt.Sprintf("pinion --host %s --ca %s ps", operator.Address(), before), "pinion ca get")
	p.waitRefused(t, operator, "AWS_CA_BUNDLE="+before+" aws ecs list-clusters", "CERTIFICATE_VERIFY_FAILED")

	must(t, away.StartDetached())
	eventually(t, away.Name+" says that it has to join again", func() bool {
		return strings.Contains(away.Output(), "join again with a token of `pinion token`")
	})
	must(t, away.Kill(t.Context()))
	join, err := operator.JoinFlags(1, "default")
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	must(t, away.Start(ctx, join...))
	p.waitConverged(t)
	if now, err := p.hostsByName(operator); err != nil || now[away.Name].ID != hosts[away.Name].ID {
		t.Errorf("%s was the host %s, and came back as %s; %v", away.Name, hosts[away.Name].ID, now[away.Name].ID, err)
	}
	both.check()
}

// waitRefused waits until a command of a client that knows the old root alone fails with that text.
func (p *pool) waitRefused(t *testing.T, on *testbed.Host, command, text string) {
	t.Helper()
	eventually(t, command+" is refused", func() bool {
		_, err := p.sh(t, on, command)
		return err != nil && strings.Contains(err.Error(), text)
	})
}

// testSealingKeyRotated replaces the sealing key while leaders are killed. Every server opens with its own keys what is sealed, when all
// have been restarted.
func (p *pool) testSealingKeyRotated(t *testing.T) {
	for range *rotations {
		operator, leader := p.follower(t), p.leader(t)
		c, err := p.client(operator)
		must(t, err)
		was, err := client.SealingOf(t.Context(), c)
		must(t, err)
		var rotation errgroup.Group
		rotation.Go(func() error {
			p.untilDone(t, func() *testbed.Host { return operator }, "keys", "rotate") // after an interruption it goes on
			return nil
		})
		eventually(t, "there is another sealing key", func() bool {
			is, err := client.SealingOf(t.Context(), c)
			return err == nil && is.Key != was.Key
		})
		must(t, leader.Kill(t.Context()))
		p.start(t, leader)
		must(t, rotation.Wait())
		servers := p.serverHosts(t)
		for _, h := range servers {
			must(t, h.Kill(t.Context()))
		}
		p.start(t, servers...)
		p.waitConverged(t)
		for _, h := range servers {
			if _, err := p.ecsClient(t, h).ListClusters(t.Context(), &ecs.ListClustersInput{}); err != nil {
				t.Errorf("%s after the rotation: %v", h.Name, err)
			}
		}
	}
	recordCount("rotations of the sealing key with a killed leader, after which every server reads the state", *rotations)
}

// changeSetting changes a setting of the pool.
func (p *pool) changeSetting(t *testing.T, setting string) {
	t.Helper()
	p.untilDone(t, func() *testbed.Host { return p.leader(t) }, "pool", "set", setting)
}

// follower is a server that does not lead.
func (p *pool) follower(t *testing.T) *testbed.Host {
	t.Helper()
	leader := p.leader(t)
	return slices.DeleteFunc(p.serverHosts(t), func(h *testbed.Host) bool { return h == leader })[0]
}

// agent is a host that is no server, and none of the others.
func (p *pool) agent(t *testing.T, others ...*testbed.Host) *testbed.Host {
	t.Helper()
	servers := p.serverHosts(t)
	return slices.DeleteFunc(slices.Clone(p.Hosts()), func(h *testbed.Host) bool { return slices.Contains(servers, h) || slices.Contains(others, h) })[0]
}

// ca is what a host answers about the CA.
func (p *pool) ca(t *testing.T, h *testbed.Host) (client.CA, error) {
	c, err := p.client(h)
	if err != nil {
		return client.CA{}, err
	}
	return client.CAOf(t.Context(), c)
}

// caFile is a file with what clients need to know the pool now.
func (p *pool) caFile(t *testing.T, h *testbed.Host) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ca.crt")
	eventually(t, h.Name+" tells the roots", func() bool {
		text, err := h.Pinion("ca", "get")
		return err == nil && os.WriteFile(path, []byte(text), 0o600) == nil
	})
	return path
}

// processesOf are the processes of tasks, by name.
func processesOf(t *testing.T, running map[string]task) map[string]int {
	t.Helper()
	pids := map[string]int{}
	for name := range running {
		pids[name] = processOf(t, "ME="+name, "sh")
	}
	return pids
}

// observer is clients that know the pool by one file and are to notice nothing: each request is a connection of its own, to a host that
// is not killed.
type observer struct {
	pool    *pool
	t       *testing.T
	file    string
	hosts   []*testbed.Host
	cancel  context.CancelFunc
	running errgroup.Group
}

// observerPause is between two requests of an observer.
const observerPause = 50 * time.Millisecond

func (p *pool) startObserver(t *testing.T, file string, hosts ...*testbed.Host) *observer {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatalf("no certificate in %s", file)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := &observer{pool: p, t: t, file: file, hosts: hosts, cancel: cancel}
	t.Cleanup(cancel)
	for _, h := range hosts {
		sdk := p.ecsClientBy(t, h, roots, true)
		o.running.Go(func() error {
			for ; ctx.Err() == nil; testbed.Rest(ctx, observerPause) {
				if _, err := sdk.ListClusters(ctx, &ecs.ListClustersInput{}); err != nil && ctx.Err() == nil {
					return fmt.Errorf("%s: %w", h.Name, err)
				}
			}
			return nil
		})
	}
	return o
}

// check ends the observer and fails when one of its clients noticed something. The AWS CLI takes the same file.
func (o *observer) check() {
	o.t.Helper()
	o.cancel()
	if err := o.running.Wait(); err != nil {
		o.t.Errorf("a client that knows the pool by %s: %v", o.file, err)
	}
	aws[object](o.t, o.pool, o.hosts[0], "AWS_CA_BUNDLE="+o.file+" aws ecs list-clusters")
}
