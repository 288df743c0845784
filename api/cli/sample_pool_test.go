package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sampleID is the id of the n-th thing of a kind.
func sampleID(kind string, n int) string {
	return fmt.Sprintf("%s%08x%022x", kind[:2], uint32(n)*2654435761, n)
}

var (
	sampleFamilies = []string{"run-train:26", "llama-70b-pretraining-stage-2-long-context:3", "nightly-eval:114", "run-notebook:1"}
	sampleTeams    = []string{"vision", "speech", "", "foundation-models"}
	sampleReasons  = []string{"", "OutOfMemoryError: Container killed due to memory usage", "CannotPullContainerError: registry.example.com/team/trainer:v3: not found", ""}
)

// family is the n-th family, without its revision.
func family(n int) string { name, _, _ := strings.Cut(pick(sampleFamilies, n), ":"); return name }

func pick(list []string, n int) string { return list[n%len(list)] }

// sampleHost answers as a pool with n of everything that is listed.
func sampleHost(t *testing.T, n int) *fakeHost {
	t.Helper()
	h := newFakeHost(t)
	tasks := map[string]string{}
	var running, stopped []string
	for i := range n {
		id := sampleID("3f", i)
		tasks[id] = sampleTask(i, id)
		if i%3 == 2 {
			stopped = append(stopped, id)
		} else {
			running = append(running, id)
		}
	}
	h.operations["ListTasks"] = func(in map[string]any) any {
		if in["desiredStatus"] == "STOPPED" {
			return map[string]any{"taskArns": stopped}
		}
		return map[string]any{"taskArns": running}
	}
	h.operations["DescribeTasks"] = func(in map[string]any) any {
		var found []string
		for _, id := range in["tasks"].([]any) {
			found = append(found, tasks[id.(string)])
		}
		return `{"tasks":[` + strings.Join(found, ",") + `]}`
	}
	h.documents["/v1/tasks?cluster=default"] = serveDocument(`{"tasks":[` + strings.Join(slices.Collect(maps.Values(tasks)), ",") + `]}`)
	h.documents["/v1/definitions"] = serveDocument(`{"definitions":[` + repeat(n, sampleDefinition) + `]}`)
	h.operations["ListServices"] = always(`{"serviceArns":[` + repeat(n, func(i int) string { return fmt.Sprintf("%q", "x/"+sampleServiceName(i)) }) + `]}`)
	h.operations["DescribeServices"] = func(in map[string]any) any {
		names := in["services"].([]any)
		return `{"services":[` + repeat(len(names), func(i int) string { return sampleService(names[i].(string)) }) + `]}`
	}
	addSampleDaemons(h, n)
	h.documents["/v1/images"] = serveDocument(`[` + repeat(n, sampleImage) + `]`)
	h.operations["ListSecrets"] = always(`{"SecretList":[` + repeat(n, sampleSecret) + `]}`)
	for path, document := range sampleDocuments(n) {
		h.documents[path] = serveDocument(document)
	}
	h.documents["/v1/events?follow=false"] = eventStream(slices.Repeat(compactLines(testEvents[1:]), 1+n/100)...)
	return h
}

func sampleDefinition(n int) string {
	return fmt.Sprintf(`{"family":"%s-%04d","revision":%d,"revisions":%d,"images":["registry.example.com/team/trainer:v%d"],"gpus":%d,"registeredAt":"2025-05-%02dT12:00:00Z"%s}`,
		family(n), n, 1+n%30, 1+n%7, n, n%9, 1+n%30, []string{"", "", `,"clusters":["lab"]`}[n%3])
}

// repeat joins n documents with commas.
func repeat(n int, document func(int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = document(i)
	}
	return strings.Join(all, ",")
}

// sampleGPUChoices are alternatives of GPUs that tasks ask for, most of which ask for a number.
var sampleGPUChoices = []string{"", "H200:1/H100:2", "", "", "", "B200:4/H200:8/H100:8/A100:16"}

// sampleTask is a task that runs, waits or has ended, in turn.
func sampleTask(n int, id string) string {
	fields := fmt.Sprintf(`%s","group":"family:%s","createdAt":%d,"attributes":[`, pick(sampleFamilies, n/3), family(n/3), 1748779200-60*n)
	if n%3 == 1 {
		fields += fmt.Sprintf(`{"name":"pinion.gpus","value":"%d"},`, n/3%9)
		if choices := sampleGPUChoices[n/3%len(sampleGPUChoices)]; choices != "" {
			fields += `{"name":"pinion.gpu-alternatives","value":"` + choices + `"},`
		}
	}
	if n%5 == 3 {
		fields += fmt.Sprintf(`{"name":"pinion.array-index","value":"%d"},`, n)
	}
	fields += `{"name":"ecs.cpu-architecture","value":"x86_64"}`
	on := `"containerInstanceArn":"x/` + sampleID("aa", n%8) + `","startedAt":1748779200,`
	switch n % 3 {
	case 0:
		return taskDocument(id, fields+`],`+on+`"lastStatus":"RUNNING","desiredStatus":"RUNNING","containers":[{"gpuIds":["GPU-1","GPU-2"]}]`)
	case 1:
		return taskDocument(id, fields+`],"lastStatus":"PROVISIONING","desiredStatus":"RUNNING","containers":[]`)
	}
	code := []string{"0", "137", "1", "2"}[n%4]
	return taskDocument(id, fields+`],`+on+`"stoppedAt":1748779200,"lastStatus":"STOPPED","desiredStatus":"STOPPED","stopCode":"EssentialContainerExited",
		"containers":[{"name":"c","exitCode":`+code+`,"reason":"`+pick(sampleReasons, n)+`"}]`)
}

func sampleDocuments(n int) map[string]string {
	list := func(document func(int) string) string { return "[" + repeat(n, document) + "]" }
	return map[string]string{
		"/v1/hosts":                 list(sampleHostDocument),
		"/v1/gpus":                  list(sampleGPU),
		"/v1/gpus/usage":            `{"gpus":` + list(sampleGPUUsage) + `,"unknown":[{"host":"gpu-9","hostId":"aa","problem":"the host cannot be reached at 10.0.0.9:7400: nothing came for 2s"}]}`,
		"/v1/queue?cluster=default": list(sampleQueueItem),
		"/v1/teams": list(func(i int) string {
			return fmt.Sprintf(`{"name":"%s","weight":%d,"gpusInUse":%d%s}`, numbered(pick(sampleTeams, i), i), 1+i%3, i%9, []string{"", `,"gpus":16`}[i%2])
		}),
		"/v1/admin/keys": list(sampleKey),
		"/v1/admin/tokens": list(func(i int) string {
			return fmt.Sprintf(`{"id":"%04x","cluster":"default","uses":%d,"used":%d,"createdAt":"2025-06-01T11:%02d:00Z","expires":"2025-06-01T12:%02d:00Z"}`, 31*i, 1+i%100, i%2, i%60, i%60)
		}),
		"/v1/tasks/" + taskOne + "/explain": `{"taskId":"` + taskOne + `","status":"PROVISIONING","summary":"It is number 1 of 2 in the queue of cluster default.","queue":{"place":1},"hosts":` +
			list(func(i int) string {
				return fmt.Sprintf(`{"hostId":"%s","reason":"RESOURCE:GPU","detail":"needs 8 GPUs, %d free"}`, sampleID("aa", i), i%6)
			}) + `,"holders":` + list(func(i int) string {
			return fmt.Sprintf(`{"taskId":"%s","hostId":"%s","group":"family:%s","team":"%s","gpus":8%s}`, sampleID("3f", i), sampleID("aa", i), family(i), pick(sampleTeams, i), []string{"", `,"until":"2025-06-01T13:00:00Z"`}[i%2])
		}) + `,"estimate":"not known: tasks have no time limit"}`,
		"/v1/history?cluster=default&limit=1000&since=2025-05-30T12%3A00%3A00Z": `{"tasks":` + list(func(i int) string {
			return fmt.Sprintf(`{"task":%s,"outcome":"%s","host":"%s","team":"%s","gpus":8}`, sampleTask(3*(i%900)+2, sampleID("3f", i)), []string{"succeeded", "failed", "stopped"}[i%3], sampleName(i), pick(sampleTeams, i))
		}) + `}`,
		"/v1/usage?by=day%2Cteam%2Cfamily&since=2025-05-02T12%3A00%3A00Z": `{"rows":` + list(func(i int) string {
			return fmt.Sprintf(`{"day":"2025-05-%02d","team":"%s","family":"%s","gpuSeconds":%d,"measuredGPUSeconds":%d,"busyGPUSeconds":%d,"joules":%d,"tasks":%d,"failed":%d}`, 1+i%30, pick(sampleTeams, i), family(i), 86400*i, 86000*i, 860*i*(i%101), 40_000_000*i, i, i/9)
		}) + `}`,
		"/v1/admin/oidc": `{"issuer":"https://login.example.com","groups":` + list(func(i int) string {
			return fmt.Sprintf(`{"group":"lab-%d-people@example.com","role":"submit","cluster":"default","teams":["vision"],"maxGpus":8}`, i)
		}) + `}`,
		"/v1/admin/ca":     `{"roots":[{"fingerprint":"0123456789abcdef0123","since":"2025-01-01T12:00:00Z","expires":"2035-01-01T12:00:00Z","signs":true}]}`,
		"/v1/admin/limits": `{"tasks":{"limit":1000000,"used":12},"waiting":{"limit":800000,"used":3},"revisions":{"limit":1000000,"used":9},"revisionsOfFamily":{"limit":10000}}`,
	}
}

func numbered(name string, n int) string {
	if n < len(sampleTeams) {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}

func sampleName(n int) string {
	if n%8 == 5 {
		return fmt.Sprintf("node-%d.rack-7.gpu.example.com", n)
	}
	return fmt.Sprintf("gpu-%d", n)
}

func sampleHostDocument(n int) string {
	status := []string{"ACTIVE", "ACTIVE", "DRAINING", "ACTIVE"}[n%4]
	role := []string{"leader", "server", "server"}[min(n, 2)]
	if n > 2 {
		role = "agent"
	}
	lost := ""
	if n%14 == 13 {
		lost = `"lostAt":"2025-06-01T11:00:00Z",`
	}
	return fmt.Sprintf(`{"id":"%s","name":"%s","cluster":"default","address":"10.0.0.5:7400","version":"0.1.0","status":"%s","role":"%s",%s"connected":%t,
		"cpu":196608,"memoryMiB":2063597,"tasks":%d,"free":{"cpu":%d,"memoryMiB":1963597,"gpus":["GPU-3"]},"gpus":{"devices":[{"uuid":"1"},{"uuid":"2"},{"uuid":"3"},{"uuid":"4"},{"uuid":"5"},{"uuid":"6"},{"uuid":"7"},{"uuid":"8"}]}}`,
		sampleID("aa", n), sampleName(n), status, role, lost, n%7 != 6, n%6, 1024*(n%192))
}

func sampleGPU(n int) string {
	document := fmt.Sprintf(`{"host":"%s","hostId":"%s","uuid":"GPU-%d","index":%d,"model":"NVIDIA H100 80GB HBM3","memoryMiB":81559,"numaNode":%d,`, sampleName(n/8), sampleID("aa", n/8), n, n%8, n%8/4)
	switch {
	case n%8 == 7:
		return document + `"health":"UNHEALTHY","problem":"Xid 79"}`
	case n%3 == 2:
		return document + `"health":"HEALTHY"}`
	}
	return document + fmt.Sprintf(`"health":"HEALTHY","task":"%s","container":"c","definition":"%s","team":"%s"}`, sampleID("3f", n/4), pick(sampleFamilies, n/4), pick(sampleTeams, n/4))
}

func sampleGPUUsage(n int) string {
	percent := n * 37 % 101
	recent := strings.TrimSuffix(repeat(12, func(i int) string { return strconv.Itoa(percent * (i + 1) / 12) }), ",")
	if n%5 == 3 {
		percent, recent = 0, "0,0,0,0,0,0,0,0,0,0,0,0"
	}
	return fmt.Sprintf(`{"hostId":"%s","uuid":"GPU-%d","utilization":%d,"memoryUsedMiB":%d,"powerWatts":%d,"celsius":%d,"clockMHz":1980,"pcieReceivedMBps":2500,"nvlinkSentMBps":120000,"recent":[%s]}`,
		sampleID("aa", n/8), n, percent, 815*percent, 70+6*percent, 30+percent/2, recent)
}

func sampleQueueItem(n int) string {
	reason := []string{"room on a host", "task " + taskOne + ", which comes before it", "group:prepare to end (pinion.after)", "another host: no host is large enough: the largest is gpu-1 (23 GiB, needs 64 GiB)"}[n%4]
	return fmt.Sprintf(`{"place":%d,"taskId":"%s","tasks":%d,"group":"family:%s","definition":"%s","index":"%s","team":"%s","priority":%d,"cpu":4096,"memoryMiB":%d,"gpus":%d,"gpuAlternatives":"%s","since":"2025-06-01T11:%02d:00Z","waitsFor":"%s"}`,
		n+1, sampleID("3f", 3*n+1), 1+n%4/3*7, family(n), pick(sampleFamilies, n), []string{"", "", strconv.Itoa(n)}[n%3], pick(sampleTeams, n), n%3*50, 2048<<(n%6), n%9, sampleGPUChoices[n%len(sampleGPUChoices)], n%60, reason)
}

func sampleSecret(n int) string {
	name := []string{"hf-token", "prod/database/password", "tls-key", "registry.example.com/robot+pull@team"}[n%4]
	tags := []string{"", `,"Clusters":["lab","web"]`}[n%2]
	about := []string{"", `,"Description":"of the robot account that pulls images of the team, read only, renewed each January"`, `,"DeletedDate":1748600000`}[n%3]
	return fmt.Sprintf(`{"Name":"%s","LastChangedDate":%d%s%s}`, numbered(name, n), 1748779200-3600*n, tags, about)
}

func sampleServiceName(n int) string { return fmt.Sprintf("%s-%04d", family(n), n) }

// sampleService is steady, rolling out or failed, by its name.
func sampleService(name string) string {
	n, _ := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	deployment := func(revision, running int, state string) string {
		return fmt.Sprintf(`{"id":"%d","taskDefinition":"x/service-%s:%d","desiredCount":%d,"runningCount":%d,"failedTasks":%d,"rolloutState":"%s","rolloutStateReason":"ECS deployment circuit breaker: tasks failed to start."}`,
			revision, name, revision, 1+n%8, running, n%4/3*5, state)
	}
	state, deployments := []string{"COMPLETED", "IN_PROGRESS", "FAILED"}[n%3], ""
	if state == "IN_PROGRESS" {
		deployments = "," + deployment(1+n%5, 1, "COMPLETED")
	}
	return fmt.Sprintf(`{"serviceName":"%s","status":"ACTIVE","schedulingStrategy":"%s","desiredCount":%d,"runningCount":%d,"pendingCount":0,"taskDefinition":"x/service-%s:%d","createdAt":%d,"deployments":[%s%s]}`,
		name, []string{"REPLICA", "DAEMON"}[n/4%2], 1+n%8, 1+n%8, name, 2+n%5, 1748779200-3600*n, deployment(2+n%5, max(0, 1+n%8-len(deployments)%7), state), deployments)
}

func sampleKey(n int) string {
	limits := []string{"", `,"maxGpus":8,"maxPriority":10,"maxTasks":100,"maxWaiting":1000`}[n%2]
	host := []string{"", "", `,"hostId":"` + sampleID("aa", n) + `"`}[n%3]
	return fmt.Sprintf(`{"id":"AKIA%016d","role":"%s","cluster":"","createdAt":"2025-05-%02dT12:00:00Z","teams":["%s"]%s%s}`, n, []string{"read", "submit", "admin"}[n%3], 1+n%30, cmpTeam(n), limits, host)
}

func cmpTeam(n int) string { return strings.TrimSpace(pick(sampleTeams, 2*n)) }

func sampleImage(i int) string {
	kept := ""
	if i%3 == 1 {
		kept = `,"kept":{"imported":true,"copies":3}`
	} else if i%3 == 2 {
		kept = `,"kept":{"on":"attribute:gpu-model == H100"}`
	}
	return fmt.Sprintf(`{"name":"registry.example.com/team/trainer:v%d","digest":"sha256:%064x","size":%d,"hosts":["a","b"]%s}`, i, i, int64(i+1)<<28, kept)
}
