package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// scraper reads metrics as Prometheus does: over TLS, with a key of the role read as a bearer token.
type scraper struct {
	client  *http.Client
	bearer  string
	address string
}

func newScraper(t testing.TB, h *host) *scraper {
	t.Helper()
	id, secret := h.makeKey(t, "read")
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(h.pinion(t, "ca", "get"))) {
		t.Fatal("no certificate of the CA")
	}
	return &scraper{client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}, bearer: id + ":" + secret, address: h.listen}
}

func (s *scraper) get(t testing.TB, path string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.bearer)
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", path, response.StatusCode, text, err)
	}
	return text
}

// scrape reads every target that the pool names, and returns the families of all.
func (s *scraper) scrape(t testing.TB) map[string]*dto.MetricFamily {
	t.Helper()
	var targets []struct {
		Labels map[string]string `json:"labels"`
	}
	if err := json.Unmarshal(s.get(t, "/v1/metrics/targets"), &targets); err != nil || len(targets) != 2 {
		t.Fatalf("%v %v", targets, err)
	}
	all := map[string]*dto.MetricFamily{}
	for _, target := range targets {
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(s.get(t, target.Labels["__metrics_path__"])))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, families)
	}
	return all
}

// of is the sum of a metric over the samples with this label.
func of(families map[string]*dto.MetricFamily, metric, label, value string) (sum float64, samples int) {
	for _, sample := range families[metric].GetMetric() {
		if slices.ContainsFunc(sample.Label, func(l *dto.LabelPair) bool { return l.GetName() == label && l.GetValue() == value }) {
			sum += sample.GetGauge().GetValue() + sample.GetCounter().GetValue()
			samples++
		}
	}
	return sum, samples
}

// serviceWithTargets makes a service whose task is the target of a load balancer, which listens on a port.
const serviceWithTargets = `set -e
tg=$(aws elbv2 create-target-group --name web --protocol HTTP --port 8080 --health-check-interval-seconds 5 --query 'TargetGroups[0].TargetGroupArn' --output text)
lb=$(aws elbv2 create-load-balancer --name front --subnets any --query 'LoadBalancers[0].LoadBalancerArn' --output text)
aws elbv2 create-listener --load-balancer-arn $lb --protocol HTTP --port %s --default-actions Type=forward,TargetGroupArn=$tg
aws ecs register-task-definition --family web --container-definitions '[{"name": "web", "image": "pinion/self", "command": ["pinion", "hello"], "memory": 64, "portMappings": [{"containerPort": 8080}]}]'
aws ecs create-service --service-name web --task-definition web --desired-count 1 --load-balancers targetGroupArn=$tg,containerName=web,containerPort=8080`

// measuredPool is what the test of dashboard and alerts reads: a task with GPUs that computes, a service at an address, a task that waits, and one
// that runs out of memory.
func measuredPool(t *testing.T) (h *host, task, service string) {
	t.Helper()
	h = newHost(t, "--gpus", "sim:2xh100")
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	h.registerShell(t, "train", 1, "while :; do :; done")
	task = h.runTask(t, "train")
	h.waitStatus(t, task, "RUNNING")
	service = freeAddress(t)
	_, port, _ := net.SplitHostPort(service)
	if _, err := h.sh(t, fmt.Sprintf(serviceWithTargets, port)); err != nil {
		t.Fatal(err)
	}
	h.registerShell(t, "greedy", 0, "tail /dev/zero")
	h.runTask(t, "greedy")
	h.pinion(t, "run", "-d", "--gpus", "2", "--name", "waits", "pinion/self", "--", "pinion", "pause")
	return h, task, service
}

// What Prometheus reads of a host is what its kernel and its driver measure, and the dashboard and the alerts ask for nothing that is not there.
func TestPrometheusReadsWhatDashboardAndAlertsAskFor(t *testing.T) {
	h, task, service := measuredPool(t)
	s := newScraper(t, h)
	var families map[string]*dto.MetricFamily
	eventually(t, "the task computes, and the service has targets and answers", func() bool {
		if answer, err := http.Get("http://" + service); err == nil {
			answer.Body.Close()
		}
		families = s.scrape(t)
		cpu, _ := of(families, "container_cpu_usage_seconds_total", "task", task)
		_, gpu := of(families, "DCGM_FI_DEV_GPU_UTIL", "task", task)
		healthy, _ := of(families, "pinion_service_targets", "state", "healthy")
		_, oldest := of(families, "pinion_queue_oldest_seconds", "cluster", "default")
		killed, _ := of(families, "pinion_stopped_tasks", "cause", "OutOfMemory")
		answered, _ := of(families, "pinion_proxy_requests_total", "code", "2xx")
		return cpu > 1 && gpu == 1 && healthy >= 1 && oldest == 1 && killed == 1 && answered >= 1
	})
	if memory, _ := of(families, "container_memory_working_set_bytes", "task", task); memory <= 0 {
		t.Errorf("the memory of the task: %v", memory)
	}
	if _, replicas := of(families, "pinion_proxy_requests_total", "service", "web"); replicas == 0 {
		t.Errorf("the requests are of no service: %v", families["pinion_proxy_requests_total"])
	}
	if leads := families["pinion_raft_is_leader"].GetMetric(); len(leads) != 1 || leads[0].GetGauge().GetValue() != 1 {
		t.Errorf("%v", leads)
	}
	metricsOf := parserOfPromQL(t)
	for name, query := range queries(t) {
		for _, metric := range metricsOf(name, query) {
			base := metric
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if family := families[strings.TrimSuffix(metric, suffix)]; family.GetType() == dto.MetricType_HISTOGRAM {
					base = family.GetName()
				}
			}
			if families[base] == nil && metric != "up" {
				t.Errorf("%s asks for %s, which nothing exports", name, metric)
			}
		}
	}
}

// queries are those of the dashboard and of the alerts, by where they are.
func queries(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	text, err := os.ReadFile("../grafana/pinion.json")
	if err == nil {
		err = json.Unmarshal(text, &dashboard)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile("../prometheus/alerts.yaml"); err == nil {
		err = yaml.Unmarshal(text, &rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all["the panel "+p.Title+": "+target.Expr] = strings.NewReplacer("$__rate_interval", "5m", "$cluster", "default").Replace(target.Expr)
		}
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			all["the alert "+r.Alert] = r.Expr
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("the alert %s says not how bad it is, or not what to do", r.Alert)
			}
		}
	}
	if len(all) < 50 {
		t.Errorf("%d queries", len(all))
	}
	return all
}

// parserOfPromQL builds Prometheus' own parser, and returns what tells of a query the metrics that it asks for.
func parserOfPromQL(t *testing.T) func(name, query string) []string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "promql")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir, build.Env = "promql", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the parser of PromQL is not built: %v\n%s", err, out)
	}
	return func(name, query string) []string {
		c := exec.Command(program)
		c.Stdin = strings.NewReader(query + "\n")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		return strings.Fields(string(out))
	}
}
