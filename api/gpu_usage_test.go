package api

import (
	"fmt"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/api/client"
	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// usageOf is how GPUs are used that all are so busy.
func usageOf(percent float64, devices ...gpu.Device) gpu.LatestUsage {
	usage := gpu.LatestUsage{At: time.Now()}
	for _, d := range devices {
		usage.GPUs = append(usage.GPUs, gpu.RecentUsage{Usage: gpu.Usage{UUID: d.UUID, Utilization: &percent}, Recent: []float64{percent, percent}})
	}
	return usage
}

// usagePool is two hosts with GPUs, of which the second is asked over the network.
func usagePool(t *testing.T) (p *twoHosts, here, there []gpu.Device) {
	p = newTwoHosts(t)
	other := newHost(followerID, "gpu-2", 4)
	other.Address = p.otherPeer.Listener.Addr().String()
	p.leader.mustApply(t, raftfsm.PutHost{Host: other})
	return p, p.leader.state.View().Host(hostID).GPUs.Devices, other.GPUs.Devices
}

func poolUsage(t *testing.T, r reply) (usage client.PoolGPUUsage) {
	t.Helper()
	if r.Code != 200 {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	r.decode(t, &usage)
	return usage
}

// Each host is asked for its own GPUs, wherever the client asks, and once in a second however many clients ask.
func TestHowTheGPUsOfThePoolAreUsed(t *testing.T) {
	p, here, there := usagePool(t)
	var mu sync.Mutex
	asked := 0
	p.leader.gpus.usage = func() gpu.LatestUsage { return usageOf(10, here...) }
	p.other.gpus.usage = func() gpu.LatestUsage {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return usageOf(90, there...)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			usage := poolUsage(t, send(t, "GET", p.follower.URL+"/v1/gpus/usage", "", "Authorization", bearerKey))
			if len(usage.GPUs) != len(here)+len(there) || len(usage.Unknown) != 0 {
				t.Errorf("%+v", usage)
			}
			for _, u := range usage.GPUs {
				if want := map[string]float64{hostID: 10, followerID: 90}[u.HostID]; *u.Utilization != want || len(u.Recent) != 2 || u.MemoryUsedMiB != nil {
					t.Errorf("%+v", u)
				}
			}
		})
	}
	all.Wait()
	if asked > 4 { // once in a second, on a slow machine too
		t.Errorf("the other host was asked %d times", asked)
	}
	if got := send(t, "GET", p.follower.URL+"/v1/hosts/"+followerID+"/gpus/usage", "", "Authorization", bearerKey); got.Code != 200 || strings.Count(got.Body.String(), `"utilization":90`) != len(there) {
		t.Errorf("one host: %d %s", got.Code, got.Body)
	}
	if got := send(t, "GET", p.follower.URL+"/v1/gpus/"+there[0].UUID+"/usage?since=10m", "", "Authorization", bearerKey); got.Code != 200 || strings.TrimSpace(got.Body.String()) != "[]" {
		t.Errorf("one GPU: %d %s", got.Code, got.Body)
	}
	for path, status := range map[string]int{"/v1/hosts/nope/gpus/usage": 404, "/v1/gpus/nope/usage": 404, "/v1/gpus/" + there[0].UUID + "/usage?since=soon": 400, "/v1/gpus/usage?cluster=nope": 200} {
		if got := send(t, "GET", p.follower.URL+path, "", "Authorization", bearerKey); got.Code != status {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// A host in the wrong hands tells of its own GPUs alone, and of them nothing that cannot be, and writes nothing on a terminal.
func TestAHostThatLiesAboutItsGPUs(t *testing.T) {
	p, here, there := usagePool(t)
	p.leader.gpus.usage = func() gpu.LatestUsage { return usageOf(10, here...) }
	lie := usageOf(50, there[0], there[0], here[0], gpu.Device{UUID: "GPU-of-nobody"})
	much := 1e12
	lie.GPUs[0].MemoryUsedMiB, lie.GPUs[0].Recent, lie.Problem = &much, []float64{-1, 1e300}, "\x1b[2J"+strings.Repeat("x\n", 1e4)
	p.other.gpus.usage = func() gpu.LatestUsage { return lie }
	got := send(t, "GET", p.follower.URL+"/v1/gpus/usage", "", "Authorization", bearerKey)
	usage := poolUsage(t, got)
	if len(usage.GPUs) != len(here)+1 {
		t.Errorf("%d GPUs: %s", len(usage.GPUs), got.Body)
	}
	for _, u := range usage.GPUs {
		if u.UUID == here[0].UUID && (u.HostID != hostID || *u.Utilization != 10) {
			t.Errorf("another host speaks for it: %+v", u)
		}
		if u.UUID == there[0].UUID && (u.MemoryUsedMiB != nil || u.Recent != nil || *u.Utilization != 50) {
			t.Errorf("%+v", u)
		}
	}
	if len(usage.Unknown) != 1 || len(usage.Unknown[0].Problem) > 400 || strings.ContainsAny(usage.Unknown[0].Problem, "\x1b\n") {
		t.Errorf("%+v", usage.Unknown)
	}
	p, _, _ = usagePool(t)
	p.other.gpus.usage = func() gpu.LatestUsage { return gpu.LatestUsage{Problem: strings.Repeat("x", 1<<20)} }
	if usage := poolUsage(t, send(t, "GET", p.follower.URL+"/v1/gpus/usage", "", "Authorization", bearerKey)); len(usage.Unknown) != 2 || len(usage.Unknown[1].Problem) > 400 {
		t.Errorf("an answer that does not end: %+v", usage)
	}
}

// A host that is away is named, and the others tell of theirs all the same.
func TestAHostThatIsAwayIsNamed(t *testing.T) {
	p, here, _ := usagePool(t)
	p.leader.gpus.usage = func() gpu.LatestUsage { return usageOf(10, here...) }
	p.otherPeer.Close()
	usage := poolUsage(t, send(t, "GET", p.follower.URL+"/v1/gpus/usage", "", "Authorization", bearerKey))
	if len(usage.GPUs) != len(here) || len(usage.Unknown) != 1 || usage.Unknown[0].Host != "gpu-2" || usage.Unknown[0].Problem == "" {
		t.Errorf("%+v", usage)
	}
}

// A key for teams does not see how GPUs are used that others have, nor the hour before, in which others may have had them. A client is no host.
func TestUsageIsForThoseWhoSeeTheTask(t *testing.T) {
	b := ready(t)
	admin := b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	var given string
	for _, team := range []string{"theirs", "mine"} {
		var answer runOutput
		b.as(admin, restRequest("RunTask", fmt.Sprintf(`{"taskDefinition":"tensorflow-1-gpu","tags":[{"key":"pinion.team","value":"%s"}]}`, team))).decode(t, &answer)
		if team == "theirs" {
			given = answer.Tasks[0].Containers[0].GPUs[0]
		}
		b.report(t, path.Base(answer.Tasks[0].ARN), spec.TaskReport{Status: spec.Running, Times: spec.TaskTimes{Started: time.Now().Add(-8 * time.Second)}}, // in which one of the two samples was taken
			spec.ContainerReport{Status: spec.Running})
	}
	devices := b.state.View().Host(hostID).GPUs.Devices
	b.gpus.usage = func() gpu.LatestUsage { return usageOf(70, devices...) }
	mine := b.withKey(t, accesskey.Key{ID: "AKIAMINE", Role: accesskey.RoleRead, Grant: accesskey.Grant{Teams: []string{"mine"}}})
	all := b.withKey(t, accesskey.Key{ID: "AKIAALL", Role: accesskey.RoleRead})
	for bearer, want := range map[string]int{mine: 1, all: len(devices)} {
		for _, route := range []string{"/v1/gpus/usage", "/v1/hosts/" + hostID + "/gpus/usage"} {
			got := b.as(bearer, httptest.NewRequest("GET", route, nil)).Body.String()
			if n := strings.Count(got, `"utilization"`); n != want || want < len(devices) && strings.Contains(got, given) {
				t.Errorf("%s: %d GPUs of %d: %s", route, n, want, got)
			}
			if bearer == mine && !strings.Contains(got, `"recent":[70]`) {
				t.Errorf("%s tells what was before the task: %s", route, got)
			}
		}
	}
	hour := "/v1/gpus/" + given + "/usage"
	if got := b.as(mine, httptest.NewRequest("GET", hour, nil)); !strings.Contains(got.Header().Get("X-Amzn-ErrorType"), "AccessDenied") {
		t.Errorf("the hour: %d %s", got.Code, got.Body)
	}
	if got := b.as(all, httptest.NewRequest("GET", hour, nil)); got.Code != 200 {
		t.Errorf("the hour: %d %s", got.Code, got.Body)
	}
	other := b.withKey(t, accesskey.Key{ID: "AKIALAB", Role: accesskey.RoleRead, Cluster: "lab"})
	for _, path := range []string{"/v1/gpus/usage", "/v1/hosts/" + hostID + "/gpus/usage", hour} {
		if got := b.as(other, httptest.NewRequest("GET", path, nil)).Body.String(); strings.Contains(got, "utilization") || strings.Contains(got, given) && path != hour {
			t.Errorf("a key for another cluster, %s: %s", path, got)
		}
	}
}

// An idle timeout is for tasks that have GPUs and end once.
func TestAnIdleTimeoutIsRefusedWhereItWouldDoNothing(t *testing.T) {
	b := ready(t)
	admin := b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	b.as(admin, restRequest("RegisterTaskDefinition", `{"family":"plain","containerDefinitions":[{"name":"c","image":"i","memory":64}]}`))
	run := func(definition, timeout string) string {
		return b.as(admin, restRequest("RunTask", `{"taskDefinition":"`+definition+`","tags":[{"key":"pinion.idle-timeout","value":"`+timeout+`"}]}`)).Body.String()
	}
	for name, got := range map[string]string{
		"a task without GPUs": run("plain", "30m"), "less than a minute": run("tensorflow-1-gpu", "5s"), "no time": run("tensorflow-1-gpu", "soon"),
		"a service": b.as(admin, restRequest("CreateService", `{"serviceName":"web","taskDefinition":"tensorflow-1-gpu","desiredCount":1,"tags":[{"key":"pinion.idle-timeout","value":"30m"}]}`)).Body.String(),
	} {
		if !strings.Contains(got, "pinion.idle-timeout") || !strings.Contains(got, "InvalidParameterException") {
			t.Errorf("%s: %s", name, got)
		}
	}
	action := func(tags string) string {
		return b.as(admin, restRequest("RunTask", `{"taskDefinition":"tensorflow-1-gpu","tags":[{"key":"pinion.idle-action","value":`+tags+`]}`)).Body.String()
	}
	for name, tags := range map[string]string{"an action without a timeout": `"requeue"}`, "an action that there is not": `"sleep"},{"key":"pinion.idle-timeout","value":"30m"}`} {
		if got := action(tags); !strings.Contains(got, "pinion.idle-action") || !strings.Contains(got, "InvalidParameterException") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := action(`"requeue"},{"key":"pinion.idle-timeout","value":"30m"}`); !strings.Contains(got, `"lastStatus"`) {
		t.Errorf("a task that is to queue again: %s", got)
	}
	if got := run("tensorflow-1-gpu", "30m"); !strings.Contains(got, `"lastStatus"`) {
		t.Errorf("a task with a GPU: %s", got)
	}
}

// Alternatives of GPUs are for tasks with one container that asks for whole GPUs, and are said when the task is run.
func TestAlternativesOfGPUsAreRefusedWhereTheyWouldDoNothing(t *testing.T) {
	b := ready(t)
	admin := b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	b.as(admin, restRequest("RegisterTaskDefinition", `{"family":"plain","containerDefinitions":[{"name":"c","image":"i","memory":64}]}`))
	tags := func(value string) string { return `"tags":[{"key":"pinion.gpu-alternatives","value":"` + value + `"}]` }
	run := func(definition, value string) string {
		return b.as(admin, restRequest("RunTask", `{"taskDefinition":"`+definition+`",`+tags(value)+`}`)).Body.String()
	}
	for name, got := range map[string]string{
		"a task without GPUs": run("plain", "H200:1/H100:2"), "one alternative": run("tensorflow-1-gpu", "H200:1"), "no model": run("tensorflow-1-gpu", "H200:1/:1"), "no number": run("tensorflow-1-gpu", "H200/H100"),
		"MIG devices": b.as(admin, restRequest("RunTask", `{"taskDefinition":"tensorflow-1-gpu","placementConstraints":[{"type":"memberOf","expression":"attribute:pinion.gpu.mig-profile == 1g.10gb"}],`+tags("H200:1/H100:2")+`}`)).Body.String(),
		"a service":   b.as(admin, restRequest("CreateService", `{"serviceName":"web","taskDefinition":"tensorflow-1-gpu","desiredCount":1,`+tags("H200:1/H100:2")+`}`)).Body.String(),
	} {
		if !strings.Contains(got, "pinion.gpu-alternatives") || !strings.Contains(got, "InvalidParameterException") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
