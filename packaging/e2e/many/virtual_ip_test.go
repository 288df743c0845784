package many

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

const virtualIPPort = 8087

// TestAVirtualIP has three hosts offer one address. A client on the switch, which knows nothing but that address, reaches a listener through it,
// whatever becomes of the host that has it.
func TestAVirtualIP(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	with := func() []string { return []string{"--gpus", "none", "--config", file} }
	p := newPool(t, with(), with(), with())
	bytes := p.SwitchIP().As4()
	bytes[3] = 200
	v := &virtualIP{pool: p, ip: netip.AddrFrom4(bytes)}
	must(t, os.WriteFile(file, fmt.Appendf(nil, "virtual-ip: [%s/24]\n", v.ip), 0o600))
	p.up(t)
	out, err := p.sh(t, p.Hosts()[0], fmt.Sprintf(`set -e
lb=$(aws elbv2 create-load-balancer --name front --subnets any --query 'LoadBalancers[0].LoadBalancerArn' --output text)
aws elbv2 create-listener --load-balancer-arn $lb --protocol HTTP --port %d --default-actions 'Type=fixed-response,FixedResponseConfig={StatusCode=200,ContentType=text/plain,MessageBody=here}' >/dev/null`, virtualIPPort))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	eventually(t, "the listener answers at the virtual IP", v.answers)
	t.Run("its host is killed", v.testKilled)
	t.Run("its host is drained", v.testDrained)
	t.Run("its host hangs", v.testHangs)
	t.Run("its host is cut off from the others", v.testCutOff)
	t.Run("its host is stopped", v.testStopped)
}

// virtualIP is an address that the hosts of a pool offer.
type virtualIP struct {
	*pool
	ip netip.Addr
}

// answers reports whether a new connection from the switch is served.
func (v *virtualIP) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return v.Dial(ctx, network, address)
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d/", v.ip, virtualIPPort), nil)
	if err != nil {
		return false
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return err == nil && string(body) == "here"
}

// holders are the hosts whose kernels have the address.
func (v *virtualIP) holders(t testing.TB) (holders []*testbed.Host) {
	t.Helper()
	for _, h := range v.Hosts() {
		var out strings.Builder
		show := exec.Command("ip", "-o", "address", "show", "to", v.ip.String()+"/32")
		show.Stdout = &out
		must(t, h.Run(show))
		if out.Len() > 0 {
			holders = append(holders, h)
		}
	}
	if len(holders) > 1 {
		t.Fatalf("%s and %s have the address at once", holders[0].Name, holders[1].Name)
	}
	return holders
}

// holder is the host that has the address, as all say.
func (v *virtualIP) holder(t testing.TB) (holder *testbed.Host) {
	t.Helper()
	eventually(t, "a host has the address, and `pinion hosts` says which", func() bool {
		holders := v.holders(t)
		if len(holders) == 0 {
			return false
		}
		holder = holders[0]
		var hosts []struct {
			Name       string `json:"name"`
			VirtualIPs []struct {
				Held bool `json:"held"`
			} `json:"virtualIPs"`
		}
		if v.get(holder, "hosts", &hosts) != nil {
			return false
		}
		said := 0
		for _, h := range hosts {
			if len(h.VirtualIPs) == 1 && h.VirtualIPs[0].Held == (h.Name == holder.Name) {
				said++
			}
		}
		return said == len(v.Hosts())
	})
	return holder
}

// moves has the holder lose the address by what fault does, and logs how long clients are not served.
func (v *virtualIP) moves(t *testing.T, fault func(holder *testbed.Host)) {
	t.Helper()
	before := v.holder(t)
	fault(before)
	began := time.Now()
	eventually(t, "another host has the address", func() bool {
		holders := v.holders(t)
		return len(holders) == 1 && holders[0] != before
	})
	eventually(t, "requests are served again", v.answers)
	t.Logf("requests through the virtual IP were served again %s after %s lost it", time.Since(began).Round(10*time.Millisecond), before.Name)
}

func (v *virtualIP) testKilled(t *testing.T) {
	v.moves(t, func(holder *testbed.Host) { must(t, holder.Kill(t.Context())) })
	v.undoFaults(t)
}

func (v *virtualIP) testDrained(t *testing.T) {
	var drained *testbed.Host
	v.moves(t, func(holder *testbed.Host) {
		drained = holder
		_, err := v.Hosts()[0].Pinion("drain", holder.Name)
		must(t, err)
	})
	_, err := v.Hosts()[0].Pinion("activate", drained.Name)
	must(t, err)
	if now := v.holder(t); now == drained {
		t.Error("the address went back")
	}
}

// The kernel takes the address from a process that does nothing any more.
func (v *virtualIP) testHangs(t *testing.T) {
	v.moves(t, func(holder *testbed.Host) { must(t, holder.Pause()) })
	v.undoFaults(t)
}

// The client reaches all hosts meanwhile.
func (v *virtualIP) testCutOff(t *testing.T) {
	v.moves(t, func(holder *testbed.Host) { must(t, v.isolate(holder, v.CutBoth)) })
	v.undoFaults(t)
}

func (v *virtualIP) testStopped(t *testing.T) {
	v.moves(t, func(holder *testbed.Host) { must(t, holder.Terminate(t.Context())) })
	v.undoFaults(t)
}
