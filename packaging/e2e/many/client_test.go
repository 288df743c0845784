package many

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/api/client"
	"pinion/packaging/testbed"
)

type object = map[string]any

// callTimeout is how long one request may take.
const callTimeout = 15 * time.Second

// client talks to a host through its unix socket, which is reached from outside its network.
func (p *pool) client(h *testbed.Host) (*client.Client, error) {
	if c, ok := p.clients.Load(h.Name); ok {
		return c.(*client.Client), nil
	}
	made, err := client.New(client.Config{Socket: filepath.Join(h.Dir, "pinion.sock"), KeyID: p.key.ID, Secret: p.key.Secret})
	if err != nil {
		return nil, err
	}
	c, _ := p.clients.LoadOrStore(h.Name, made)
	return c.(*client.Client), nil
}

// call sends an operation to a host. An error means that there was no answer; a refusal has a status.
func (p *pool) call(h *testbed.Host, operation string, in, out any) (status int, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return 0, err
	}
	return p.answer(h, out, func(ctx context.Context, c *client.Client) ([]byte, error) {
		reply, err := c.Send(ctx, operation, "application/json", body)
		return reply.Body, err
	})
}

// get reads a document of Pinion's own API.
func (p *pool) get(h *testbed.Host, path string, out any) error {
	status, err := p.getStatus(h, path, out)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("GET %s on %s: %d", path, h.Name, status)
	}
	return err
}

// getStatus is get for documents that not every host has.
func (p *pool) getStatus(h *testbed.Host, path string, out any) (status int, err error) {
	return p.answer(h, out, func(ctx context.Context, c *client.Client) ([]byte, error) {
		var document json.RawMessage
		err := c.Get(ctx, "/v1/"+path, nil, &document)
		return document, err
	})
}

// answer decodes the answer of a request into out; a rawBody takes it undecoded.
func (p *pool) answer(h *testbed.Host, out any, request func(context.Context, *client.Client) ([]byte, error)) (status int, err error) {
	c, err := p.client(h)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	raw, err := request(ctx, c)
	text, keeps := out.(*rawBody)
	if refused, ok := errors.AsType[*client.APIError](err); ok {
		if keeps {
			*text = rawBody(refused.Error())
		}
		return refused.Status, nil
	}
	switch {
	case err != nil:
		return 0, err
	case keeps:
		*text = rawBody(raw)
		return http.StatusOK, nil
	}
	return http.StatusOK, json.Unmarshal(raw, out)
}

// rawBody takes an answer as it is, whatever the status.
type rawBody string

// mustCall is call for requests that succeed after a while: what a client's retries would do.
func (p *pool) mustCall(t testing.TB, h *testbed.Host, operation string, in, out any) {
	t.Helper()
	eventually(t, operation+" on "+h.Name, func() bool {
		var raw rawBody
		status, err := p.call(h, operation, in, &raw)
		if err == nil && status >= 400 && status < 500 {
			t.Fatalf("%s on %s: %d %s", operation, h.Name, status, raw)
		}
		if err != nil || status != 200 {
			return false
		}
		must(t, json.Unmarshal([]byte(raw), out))
		return true
	})
}

// task holds the members of a task that tests read.
type task struct {
	ARN        string `json:"taskArn"`
	Instance   string `json:"containerInstanceArn"`
	LastStatus string `json:"lastStatus"`
	StartedBy  string `json:"startedBy"`
	Reason     string `json:"stoppedReason"`
	StopCode   string `json:"stopCode"`
	StartedAt  any    `json:"startedAt"`
	// PullStoppedAt is in seconds since 1970.
	PullStoppedAt float64 `json:"pullStoppedAt"`
	Containers    []struct {
		RuntimeID string   `json:"runtimeId"`
		ExitCode  *int     `json:"exitCode"`
		GPUs      []string `json:"gpuIds"`
	} `json:"containers"`
}

func (t task) String() string { raw, _ := json.Marshal(t); return string(raw) }

func (t task) id() string   { return t.ARN[strings.LastIndex(t.ARN, "/")+1:] }
func (t task) host() string { return t.Instance[strings.LastIndex(t.Instance, "/")+1:] }

type tasks struct {
	Tasks    []task `json:"tasks"`
	Failures []struct {
		ARN    string `json:"arn"`
		Reason string `json:"reason"`
		Detail string `json:"detail"`
	} `json:"failures"`
}

// host is a host as GET /v1/hosts shows it.
type host struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Connected bool   `json:"connected"`
	Role      string `json:"role"`
	Tasks     int    `json:"tasks"`
}

// hostsByName are the hosts that one host knows.
func (p *pool) hostsByName(h *testbed.Host) (map[string]host, error) {
	var all []host
	err := p.get(h, "hosts", &all)
	byName := map[string]host{}
	for _, one := range all {
		byName[one.Name] = one
	}
	return byName, err
}

// leader waits until a host that runs knows who leads.
func (p *pool) leader(t testing.TB) (leader *testbed.Host) {
	t.Helper()
	eventually(t, "somebody leads", func() bool {
		leader = p.knownLeader()
		return leader != nil
	})
	return leader
}

// knownLeader asks every host that runs for a leader that runs; nil when none knows one now.
func (p *pool) knownLeader() *testbed.Host {
	for _, h := range p.Hosts() {
		if h.Status() != "running" {
			continue
		}
		hosts, err := p.hostsByName(h)
		if err != nil {
			continue
		}
		for name, seen := range hosts {
			if named, err := p.Host(name); err == nil && seen.Role == "leader" && named.Status() == "running" {
				return named
			}
		}
	}
	return nil
}

// wantServers is how many servers the pool has when all is well: three, or one of two.
func (p *pool) wantServers() int {
	if len(p.Hosts()) < 3 {
		return 1
	}
	return 3
}

// waitConverged waits until every host shows all hosts as connected, and the wanted number of servers.
func (p *pool) waitConverged(t testing.TB) {
	t.Helper()
	servers := p.wantServers()
	for _, h := range p.Hosts() {
		eventually(t, fmt.Sprintf("%s sees all %d hosts connected and %d servers", h.Name, len(p.Hosts()), servers), func() bool {
			hosts, err := p.hostsByName(h)
			roles := map[string]int{}
			for _, one := range hosts {
				roles[one.Role]++
				if !one.Connected {
					return false
				}
			}
			return err == nil && len(hosts) == len(p.Hosts()) && roles["leader"] == 1 && roles["leader"]+roles["server"] == servers && roles["joining"] == 0
		})
	}
}

// sh runs a shell command on a host as a user would after `eval "$(pinion env)"`; documents' commands go in verbatim.
func (p *pool) sh(t testing.TB, h *testbed.Host, script string) (string, error) {
	t.Helper()
	documents, err := filepath.Abs("../../../api/ecs/testdata")
	must(t, err)
	cmd := exec.Command("bash", "-c", `eval "$(pinion --data-dir "$0" env)"; export AWS_ACCESS_KEY_ID="$1" AWS_SECRET_ACCESS_KEY="$2"; `+script, h.Dir, p.key.ID, p.key.Secret)
	cmd.Dir = documents
	var out, problem strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := h.Run(cmd); err != nil {
		return out.String(), errors.New(strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// aws runs a command line of the AWS CLI on a host and decodes its answer.
func aws[T any](t testing.TB, p *pool, h *testbed.Host, script string) (answer T) {
	t.Helper()
	out, err := p.sh(t, h, script)
	if err == nil {
		err = json.Unmarshal([]byte(out), &answer)
	}
	if err != nil {
		t.Fatalf("%s, on %s: %v\n%s", script, h.Name, err, out)
	}
	return answer
}
