package conformance

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

// waitTimeout bounds every wait. It is generous: nothing here measures speed, and the machine may do other things.
const waitTimeout = 3 * time.Minute

// testPool is a pool whose first host is its only server, has GPUs and answers all clients. The others are spare: see spare.
type testPool struct {
	*testbed.Testbed
	host   *testbed.Host
	spares map[string]*testbed.Host // that have not been started, by the name of who may have them
	key    string                   // the shell's exports of an access key of role admin
	env    map[string]string        // what `pinion env` sets, with that key
	http   *http.Client             // reaches the pool's network and trusts its certificates

	listeners int // of load balancers, each on a port of its own
}

// newTestPool starts a pool of one host, with places for spare ones. The test's end takes all of it away.
func newTestPool(t *testing.T, spares ...string) *testPool {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("the conformance tests make containers: run them as root")
	}
	dir, err := os.MkdirTemp("", testbedPrefix)
	must(t, err)
	config := testbed.Config{Dir: dir, Binary: cmp.Or(os.Getenv("PINION_BINARY"), "../../bin/pinion"), Hosts: [][]string{{"--servers", "1", "--gpus", "sim:8xh100", "--attribute", "rack=r1", "--task-network", "subnet-lab=10.99.0.0/16"}}}
	for _, name := range spares {
		config.Hosts = append(config.Hosts, []string{"--gpus", "none", "--cluster", "spare-" + name})
	}
	s := &testPool{spares: map[string]*testbed.Host{}}
	if s.Testbed, err = testbed.New(config); err != nil {
		os.Remove(dir)
		t.Fatal(err)
	}
	t.Cleanup(func() { s.down(t) })
	for i, h := range s.Hosts()[1:] {
		s.spares[spares[i]] = h
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	s.host = s.Hosts()[0]
	must(t, s.host.Start(ctx))
	s.key, err = s.host.Pinion("keys", "create", "--role", "admin")
	must(t, err)
	s.env = s.clientEnv(t)
	s.http = s.newHTTPClient(t)
	return s
}

// spare starts the only host of the cluster spare-NAME, without GPUs, which the scenario deregisters.
func (s *testPool) spare(t *testing.T, name string) {
	t.Helper()
	join, err := s.host.JoinFlags(1, "spare-"+name)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	must(t, s.spares[name].Start(ctx, join...))
}

func (s *testPool) down(t *testing.T) {
	if t.Failed() {
		const most = 4000
		output := s.Hosts()[0].Output()
		t.Logf("the end of what the host wrote:\n%s", output[max(0, len(output)-most):])
	}
	if err := s.Down(context.Background()); err != nil {
		t.Error(err)
	}
}

// clientEnv returns the variables that a client of the pool has.
func (s *testPool) clientEnv(t *testing.T) map[string]string {
	t.Helper()
	text, err := s.run(s.command("env", "-0"))
	must(t, err)
	set := map[string]string{}
	for variable := range strings.SplitSeq(string(text), "\x00") {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			set[name] = value
		}
	}
	return set
}

func (s *testPool) newHTTPClient(t *testing.T) *http.Client {
	t.Helper()
	authority, err := os.ReadFile(s.env["AWS_CA_BUNDLE"])
	must(t, err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		t.Fatalf("no certificate in %s", s.env["AWS_CA_BUNDLE"])
	}
	transport := &http.Transport{DialContext: s.Dial, TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// command is a program on the host as a user starts it after `eval "$(pinion env)"` and `eval "$(pinion keys create ...)"`. Run it with
// run. The key is not the host's own, whose rights follow the host's role.
func (s *testPool) command(program ...string) *exec.Cmd {
	const sh = `eval "$(pinion --data-dir "$0" env)"; eval "$1"; shift; exec "$@"`
	return exec.Command("sh", append([]string{"-c", sh, s.host.Dir, s.key}, program...)...)
}

// run returns the standard output of the command; the error carries standard error.
func (s *testPool) run(cmd *exec.Cmd) ([]byte, error) {
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := s.host.Run(cmd); err != nil {
		return out.Bytes(), fmt.Errorf("%w: %s", err, strings.TrimSpace(problem.String()))
	}
	return out.Bytes(), nil
}

// eventually polls ok until it is true; for events in another process.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("after %v still not: %s", waitTimeout, what)
		}
	}
}

// must stops the test when something that the test itself needs did not work.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
