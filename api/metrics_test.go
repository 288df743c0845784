package api

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"pinion/api/metrics"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// measuring has a registry measure something, whose one label is a word of a user. labels are names and values in turn.
func measuring(t testing.TB, r *prometheus.Registry, name string, labels ...string) {
	t.Helper()
	own := prometheus.Labels{}
	for i := 0; i < len(labels); i += 2 {
		own[labels[i]] = labels[i+1]
	}
	if err := r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: "Something.", ConstLabels: own}, func() float64 { return 1 })); err != nil {
		t.Fatal(err)
	}
}

// metricsOf are the lines of an answer that are no comments.
func metricsOf(t testing.TB, r reply) (lines []string) {
	t.Helper()
	if r.Code != 200 || !strings.HasPrefix(r.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %s %s", r.Code, r.Header().Get("Content-Type"), r.Body)
	}
	for line := range strings.Lines(r.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// The metrics of a host are there at the host itself and through every server, with the cluster that the pool knows it in.
func TestTheMetricsOfAHostAreThereWhereverTheyAreAsked(t *testing.T) {
	p, _, _ := usagePool(t)
	measuring(t, p.other.config.Shared.Metrics.Host, "of_there", "task", "a")
	for _, url := range []string{p.follower.URL + "/metrics", p.follower.URL + "/v1/hosts/" + followerID + "/metrics"} {
		got := metricsOf(t, send(t, "GET", url, "", "Authorization", bearerKey))
		if !slices.Contains(got, `of_there{task="a",cluster="default"} 1`) || !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "go_goroutines ") }) {
			t.Errorf("%s: %s", url, strings.Join(got, "\n"))
		}
	}
	p.otherPeer.Close()
	wait(t, "a host that is away does not answer, once its last answer is old", func() bool {
		return send(t, "GET", p.follower.URL+"/metrics", "", "Authorization", bearerKey).Code == 500
	})
}

// Who sees a task sees what is measured of it, and what says nothing of anybody is for those who see everything.
func TestMetricsAreForThoseWhoSeeTheTask(t *testing.T) {
	b := ready(t)
	b.config.Shared = NewShared()
	for _, r := range []*prometheus.Registry{b.config.Shared.Metrics.Host, b.config.Shared.Metrics.Pool} {
		measuring(t, r, "of_mine", "team", "mine")
		measuring(t, r, "of_theirs", "team", "theirs")
		measuring(t, r, "of_nobody")
	}
	measuring(t, b.config.Shared.Metrics.Pool, "of_default", "cluster", spec.DefaultCluster, "team", "theirs")
	measuring(t, b.config.Shared.Metrics.Pool, "of_lab", "cluster", "lab", "team", "mine")
	own := "/v1/hosts/" + hostID + "/metrics"
	for _, test := range []struct {
		name    string
		key     accesskey.Key
		path    string
		sees    string // of the metrics above, by their last words
		process bool   // of Pinion itself too
	}{
		{"all, a host", accesskey.Key{}, own, "mine theirs nobody", true},
		{"all, this host", accesskey.Key{}, "/metrics", "mine theirs nobody", true},
		{"all, the pool", accesskey.Key{}, "/metrics/pool", "mine theirs nobody default lab", false},
		{"its cluster, a host", accesskey.Key{Cluster: "default"}, own, "mine theirs nobody", false},
		{"its cluster, the pool", accesskey.Key{Cluster: "default"}, "/metrics/pool", "default", false},
		{"another cluster, the pool", accesskey.Key{Cluster: "lab"}, "/metrics/pool", "lab", false},
		{"a team, a host", accesskey.Key{Grant: accesskey.Grant{Teams: []string{"mine"}}}, own, "mine", false},
		{"a team, the pool", accesskey.Key{Grant: accesskey.Grant{Teams: []string{"mine"}}}, "/metrics/pool", "lab", false},
		{"a team of another cluster", accesskey.Key{Cluster: "default", Grant: accesskey.Grant{Teams: []string{"mine"}}}, "/metrics/pool", "", false},
	} {
		test.key.ID, test.key.Role = "AKIA"+strings.ToUpper(strings.Map(func(r rune) rune {
			if r < 'a' || r > 'z' {
				return -1
			}
			return r
		}, test.name)), accesskey.RoleRead
		got := strings.Join(metricsOf(t, b.as(b.withKey(t, test.key), httptest.NewRequest("GET", test.path, nil))), "\n")
		for _, word := range strings.Fields("mine theirs nobody default lab") {
			if sees := slices.Contains(strings.Fields(test.sees), word); strings.Contains(got, "of_"+word+"{") != sees && strings.Contains(got, "of_"+word+" ") != sees {
				t.Errorf("%s: of_%s is %v: %s", test.name, word, !sees, got)
			}
		}
		if strings.Contains(got, "go_goroutines") != test.process {
			t.Errorf("%s: of the process: %v", test.name, !test.process)
		}
	}
}

// A client gets no other host's metrics by what it writes into its request, and none without a key.
func TestAClientDoesNotChooseItsScope(t *testing.T) {
	b := ready(t)
	b.config.Shared = NewShared()
	measuring(t, b.config.Shared.Metrics.Host, "of_the_host")
	lab := b.withKey(t, accesskey.Key{ID: "AKIALAB", Role: accesskey.RoleRead, Cluster: "lab"})
	for _, path := range []string{"/metrics", "/metrics?cluster=lab", "/v1/hosts/" + hostID + "/metrics", "/v1/hosts/" + hostID + "/metrics?cluster=lab", "/api/v1/hosts/" + hostID + "/metrics?cluster=lab"} {
		for _, bearer := range []string{lab, ""} {
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("X-Pinion-Authorized-By", hostID)
			r.Header.Set("X-Pinion-Forwarded", hostID)
			b.config.Trusted = false
			if got := b.as(bearer, r); got.Code == 200 || strings.Contains(got.Body.String(), "of_the_host") {
				t.Errorf("%s by %q: %d %s", path, bearer, got.Code, got.Body)
			}
		}
	}
}

// A host in the wrong hands fills no memory of the server that asks it, and nobody takes its words for those of another cluster.
func TestAHostThatSendsNoMetrics(t *testing.T) {
	p, _, _ := usagePool(t)
	lies := &lyingCollector{many: 1}
	p.other.config.Shared.Metrics.Host.MustRegister(lies)
	get := func() reply {
		return send(t, "GET", p.follower.URL+"/v1/hosts/"+followerID+"/metrics", "", "Authorization", bearerKey)
	}
	if got := get(); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	lies.many = 1 << 17
	var got reply
	wait(t, "it sends more than anybody wants", func() bool {
		got = get()
		return got.Code != 200
	})
	if got.Code != 500 || got.Body.Len() > 1<<10 {
		t.Errorf("more than anybody wants: %d, %d bytes", got.Code, got.Body.Len())
	}
}

// An agent in the wrong hands tells nothing of Raft, of the pool or of another cluster, also to a key that sees everything.
func TestAHostTellsOfItselfAlone(t *testing.T) {
	p, _, _ := usagePool(t)
	there := p.other.config.Shared.Metrics
	measuring(t, there.Process, "pinion_raft_has_leader")
	measuring(t, there.Process, "pinion_gpus", "cluster", "default")
	measuring(t, there.Process, "of_another", "cluster", "lab")
	got := strings.Join(metricsOf(t, send(t, "GET", p.follower.URL+"/v1/hosts/"+followerID+"/metrics", "", "Authorization", bearerKey)), "\n")
	if strings.Contains(got, "pinion_raft_") || strings.Contains(got, "pinion_gpus") || strings.Contains(got, "lab") || !strings.Contains(got, `of_another{cluster="default"} 1`) {
		t.Error(got)
	}
}

// What a host has carried is of the cluster and of the team of the service, whatever cluster the host serves, and what is of no service is for keys without a
// scope.
func TestRequestsAreOfTheServiceThatAnswersThem(t *testing.T) {
	p, _, _ := usagePool(t)
	there := p.other.config.Shared.Metrics.Process
	for name, labels := range map[string][]string{"mine": {"cluster", "default", "team", "mine"}, "theirs": {"cluster", "default", "team", "theirs"}, "lab": {"cluster", "lab", "team", "mine"}, "nobody": {}} {
		measuring(t, there, "pinion_proxy_"+name, labels...)
	}
	for _, test := range []struct {
		key  accesskey.Key
		sees string
	}{
		{accesskey.Key{ID: "AKIAALL"}, "mine theirs lab nobody"},
		{accesskey.Key{ID: "AKIACLUSTER", Cluster: "default"}, "mine theirs"},
		{accesskey.Key{ID: "AKIATEAM", Cluster: "default", Grant: accesskey.Grant{Teams: []string{"mine"}}}, "mine"},
	} {
		test.key.Role = accesskey.RoleRead
		bearer := p.leader.withKey(t, test.key)
		for _, path := range []string{"/metrics", "/v1/hosts/" + followerID + "/metrics"} {
			got := strings.Join(metricsOf(t, send(t, "GET", p.follower.URL+path, "", "Authorization", bearer)), "\n")
			for _, name := range strings.Fields("mine theirs lab nobody") {
				if sees := slices.Contains(strings.Fields(test.sees), name); strings.Contains(got, "pinion_proxy_"+name) != sees {
					t.Errorf("%s at %s: %s is %v: %s", test.key.ID, path, name, !sees, got)
				}
			}
			if strings.Contains(got, "pinion_proxy_lab") && !strings.Contains(got, `pinion_proxy_lab{cluster="lab"`) {
				t.Error(got)
			}
		}
	}
}

// lyingCollector sends many samples.
type lyingCollector struct{ many int }

func (*lyingCollector) Describe(chan<- *prometheus.Desc) {}

func (l *lyingCollector) Collect(ch chan<- prometheus.Metric) {
	desc := prometheus.NewDesc("lie", "A lie.", []string{"n"}, nil)
	for i := range l.many {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, 1, strings.Repeat("x", 64)+string(rune('a'+i%26))+strings.Repeat("y", i/26%64)+strings.Repeat("z", i/26/64))
	}
}

// Prometheus finds the pool and every host that the key is for, each through a server, and by a name of its own.
func TestPrometheusFindsAllHosts(t *testing.T) {
	b := ready(t)
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab", Status: spec.ClusterActive}})
	server := newHost(hostID, "gpu-1", 0)
	server.Server = true
	agent, same, lab := newHost(strings.Repeat("b", 32), "gpu-2", 0), newHost(strings.Repeat("c", 32), "gpu-2", 0), newHost(strings.Repeat("d", 32), "gpu-4", 0)
	lab.Cluster = "lab"
	for _, host := range []spec.Host{agent, same, lab} {
		b.mustApply(t, raftfsm.PutHost{Host: host})
	}
	b.mustApply(t, raftfsm.SetServerRole{ID: hostID, Server: true})
	for cluster, want := range map[string]string{"": "gpu-1 gpu-2/" + agent.ID + " gpu-2/" + same.ID + " gpu-4 pool", "lab": "gpu-4 pool"} {
		var targets []metrics.Target
		b.as(b.withKey(t, accesskey.Key{ID: "AKIA" + strings.ToUpper(cluster) + "X", Role: accesskey.RoleRead, Cluster: cluster}), httptest.NewRequest("GET", "/v1/metrics/targets", nil)).decode(t, &targets)
		var names []string
		for _, target := range targets {
			names = append(names, target.Labels["instance"])
			if !slices.Equal(target.Targets, []string{server.Address}) || !strings.HasSuffix(target.Labels["__metrics_path__"], "/metrics") && target.Labels["__metrics_path__"] != "/metrics/pool" {
				t.Errorf("%+v", target)
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("a key for %q: %s, want %s", cluster, got, want)
		}
	}
}

// Requests are counted by the operations that there are, whatever a client makes up.
func TestRequestsAreCountedByOperation(t *testing.T) {
	b := ready(t)
	b.config.Shared = NewShared()
	b.must(t, "ListClusters", `{}`)
	for _, path := range []string{"/made/up/1", "/made/up/2", "/v1/hosts/nope/metrics"} {
		b.get(path)
	}
	b.rest("MadeUpOperation", `{}`)
	r := b.get("/metrics")
	got := strings.Join(metricsOf(t, r), "\n")
	for _, want := range []string{`{code="200",operation="ListClusters"} 1`, `{code="404",operation="(none)"} 2`, `operation="(unknown operation)"} 1`, `{code="404",operation="GET /v1/hosts/{id}/metrics"} 1`} {
		if !strings.Contains(got, "pinion_api_requests_total"+want) && !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(got, "MadeUp") || strings.Contains(got, "made/up") {
		t.Error("a client makes up series")
	}
	problems, err := promlint.New(strings.NewReader(r.Body.String())).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}
