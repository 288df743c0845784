package many

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/packaging/signature"
)

var (
	upgrades    = flag.Int("upgrades", 1, "how often a pool of five hosts is upgraded and put back under its tasks")
	requestRate = flag.Int("upgrade-requests", 50, "how many requests a second a service gets meanwhile")
)

// upgradedPool is a pool whose hosts have programs of their own, and who signs them.
type upgradedPool struct {
	*pool
	key      signature.PrivateKey
	programs string // the folder of what hosts are upgraded to
}

// TestAPoolIsUpgradedUnderItsTasks exchanges the program of five hosts and puts it back, with 40 tasks, a service that is asked all the time, and clients that write
// through every host. On one host the new program ends before it is ready, in each round on another one; that stops the upgrade, which then goes on. No task is
// another container, no request of the service fails, and nothing that was acknowledged is lost. A program that works nowhere is put back by the first host, an
// agent, and stops there.
func TestAPoolIsUpgradedUnderItsTasks(t *testing.T) {
	p := newUpgradedPool(t, 5)
	running := p.startTicking(t, 40, "upgraded")
	p.build(t, "streamserver")
	p.serveAnywhere(t)
	second := p.release(t, "second", nil)
	for pass := range *upgrades {
		s, w := p.askAnywhere(t), p.startWriters(t, fmt.Sprintf("upgraded-%d", pass))
		began := time.Now()
		p.failAt(t, second, 1+pass%len(p.Hosts()))
		p.mustUpgrade(t, "--to", second, "--all", "--step", "2")
		p.programsAre(t, "second")
		p.mustUpgrade(t, "--to", second, "--all") // changes nothing
		p.mustUpgrade(t, "rollback", "--all")
		p.programsAre(t, "first")
		t.Logf("round %d: there and back in %v", pass+1, time.Since(began).Round(time.Second))
		w.stop()
		s.mustBeWhole()
		t.Logf("%d changes were acknowledged", w.check(t))
		p.waitConverged(t)
		p.checkUndisturbed(t, running)
	}
	p.tryFailing(t, running)
	p.tryUntrusted(t)
	p.endTicking(t, running)
}

// newUpgradedPool starts so many hosts, each from a file of its own, that trust a key.
func newUpgradedPool(t *testing.T, hosts int) *upgradedPool {
	key, err := signature.GenerateKey()
	must(t, err)
	flags := [][]string{}
	for range hosts {
		flags = append(flags, []string{"--gpus", "sim:8xh100", "--release-key", key.Public().String()})
	}
	p := &upgradedPool{newPool(t, flags...), key, t.TempDir()}
	for _, h := range p.Hosts() {
		dir := filepath.Join(p.programs, h.Name)
		must(t, os.Mkdir(dir, 0o755))
		h.Own = filepath.Join(dir, "pinion")
		p.write(t, h.Own, "first", nil)
	}
	p.up(t)
	return p
}

// write writes a program: the one under test with a word behind it, which is another release to everybody who looks at its digest, or other bytes.
func (p *upgradedPool) write(t *testing.T, path, word string, content []byte) {
	t.Helper()
	if content == nil {
		var err error
		content, err = os.ReadFile(binary())
		must(t, err)
		content = append(content, word...)
	}
	must(t, os.WriteFile(path, content, 0o755))
}

// release is a program with its signature beside it.
func (p *upgradedPool) release(t *testing.T, word string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(p.programs, word)
	p.write(t, path, word, content)
	p.sign(t, path, p.key)
	return path
}

func (p *upgradedPool) sign(t *testing.T, path string, key signature.PrivateKey) {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	text, err := signature.Sign(file, key, "pinion of a test")
	must(t, err)
	must(t, os.WriteFile(path+signature.Extension, text, 0o644))
}

// mustUpgrade runs `pinion upgrade` on the first host, which is started anew meanwhile as all others are.
func (p *upgradedPool) mustUpgrade(t *testing.T, args ...string) {
	t.Helper()
	if out, err := p.Hosts()[0].Pinion(append([]string{"upgrade"}, args...)...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// programsAre checks that every host runs the program that ends with the word, in the process that it had, and that nothing of the image is left.
func (p *upgradedPool) programsAre(t *testing.T, word string) {
	t.Helper()
	for _, h := range p.Hosts() {
		running, err := os.ReadFile(fmt.Sprintf("/proc/%d/exe", h.PID()))
		if err != nil || !strings.HasSuffix(string(running), word) {
			t.Errorf("%s does not run %s: %v", h.Name, word, err)
		}
	}
	eventually(t, "the image of the program is gone", func() bool {
		out, err := p.Hosts()[0].Pinion("image", "ls", "-o", "json")
		return err == nil && !strings.Contains(out, "pinion.invalid")
	})
}

// tryFailing has a program put back that works nowhere: by one agent, in its previous process, with the tasks as they were.
func (p *upgradedPool) tryFailing(t *testing.T, running map[string]task) {
	t.Helper()
	p.build(t, "failing")
	content, err := os.ReadFile(filepath.Join(p.witness, "failing"))
	must(t, err)
	failing := p.release(t, "failing", content)
	out, err := p.Hosts()[0].Pinion("upgrade", "--to", failing, "--all", "--step", "5", "-o", "json")
	if err == nil {
		t.Fatalf("the pool has a program that works nowhere:\n%s", out)
	}
	failed := map[string]string{}
	for line := range strings.Lines(out) {
		var e struct{ Host, Event, Reason string }
		must(t, json.Unmarshal([]byte(line), &e))
		failed[e.Event] += e.Host + " " + e.Reason
	}
	hosts, listErr := p.hostsByName(p.Hosts()[0])
	must(t, listErr)
	name, reason, _ := strings.Cut(failed["failed"], " ")
	if hosts[name].Role != "agent" || !strings.Contains(err.Error(), name) || !strings.Contains(reason, "ROLLED_BACK") || strings.TrimSpace(failed["begun"]) != name {
		t.Errorf("%v: %v", failed, err)
	}
	p.waitConverged(t)
	p.checkUndisturbed(t, running)
}

// tryUntrusted has the pool refuse programs that it does not trust, before anything is changed.
func (p *upgradedPool) tryUntrusted(t *testing.T) {
	t.Helper()
	untrusted, err := signature.GenerateKey()
	must(t, err)
	other := p.release(t, "other", nil)
	p.sign(t, other, untrusted)
	unsigned := filepath.Join(p.programs, "unsigned")
	p.write(t, unsigned, "unsigned", nil)
	for _, file := range []string{other, unsigned} {
		if out, err := p.Hosts()[0].Pinion("upgrade", "--to", file, "--all"); err == nil || strings.Contains(out, "begun") {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// serveAnywhere makes a service behind a load balancer, which any host answers for.
func (p *upgradedPool) serveAnywhere(t *testing.T) {
	t.Helper()
	h := p.Hosts()[0]
	out, err := p.sh(t, h, fmt.Sprintf(`set -e
aws ecs register-task-definition --family streams --network-mode bridge --volumes '[{"name":"w","host":{"sourcePath":"%s"}}]' --container-definitions '[{"name":"main","image":"busybox",
	"memory":64,"entryPoint":["/w/streamserver"],"mountPoints":[{"sourceVolume":"w","containerPath":"/w"}],"portMappings":[{"containerPort":8000}]}]' >/dev/null
lb=$(aws elbv2 create-load-balancer --name front --subnets any --query 'LoadBalancers[0].LoadBalancerArn' --output text)
tg=$(aws elbv2 create-target-group --name streams --protocol HTTP --port 8000 --health-check-path /health --health-check-interval-seconds 5 --query 'TargetGroups[0].TargetGroupArn' --output text)
aws elbv2 create-listener --load-balancer-arn $lb --protocol HTTP --port %d --default-actions Type=forward,TargetGroupArn=$tg >/dev/null
aws ecs create-service --service-name streams --task-definition streams --desired-count 5 --load-balancers targetGroupArn=$tg,containerName=main,containerPort=8000 --tags key=pinion.healthy-after,value=1s >/dev/null`,
		p.witness, listenerPort))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	eventually(t, "the service runs", func() bool { return p.describeStreams(t, h).Running == 5 })
	s := p.askAnywhere(t)
	s.stop()
	for _, h := range p.Hosts() {
		eventually(t, "the listener of "+h.Name+" answers", func() bool { return s.answers(h, listenerPort) })
	}
}

// askAnywhere has requests sent all the time, by clients that know all hosts as addresses of one name: where one takes no connection, the next one is tried.
func (p *upgradedPool) askAnywhere(t *testing.T) *streams {
	t.Helper()
	return p.startRequests(t, health, func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		if conn, err = p.Dial(ctx, network, address); err == nil {
			return conn, nil
		}
		for _, h := range p.Hosts() {
			if conn, err = p.Dial(ctx, network, netip.AddrPortFrom(h.IP, listenerPort).String()); err == nil {
				return conn, nil
			}
		}
		return nil, err
	}, listenerPort, *requestRate)
}
