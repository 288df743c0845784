package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/service"
)

// composeFile has of each kind something: two services, GPUs in both forms, limits, ports, volumes, a health check, an order.
const composeFile = `
name: shop
services:
  llm:
    image: vllm/vllm-openai:v0.6
    command: [--model, "${MODEL:-tiny}"]
    environment: {HF_HOME: /cache, UNSET_HERE: }
    ports: ["8000"]
    shm_size: 16g
    volumes:
      - cache:/cache
      - /srv/models:/models:ro
      - {type: tmpfs, target: /scratch, tmpfs: {size: 64m}}
    healthcheck: {test: curl -f localhost:8000/health, interval: 10s, start_period: 2m}
    deploy:
      replicas: 2
      update_config: {order: start-first}
      labels: {pinion.team: vision}
      resources:
        limits: {cpus: "4", memory: 32g}
        reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}
  web:
    image: nginx
    gpus: [{count: 2}]
    ports: ["8080:80"]
    depends_on: {llm: {condition: service_healthy}}
    ulimits: {memlock: -1}
    devices: [/dev/fuse, "/dev/kvm:/dev/k:r"]
    stop_grace_period: 90s
volumes: {cache: }
`

// withCompose is a host without services, and the file in a directory that is the current one.
func withCompose(t *testing.T, file string) *fakeHost {
	t.Helper()
	h := withService(t, steady)
	h.operations["DescribeServices"] = always(`{"services":[],"failures":[{"arn":"x","reason":"MISSING"}]}`)
	h.operations["ListServices"] = always(`{"serviceArns":[]}`)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MODEL", "")
	if err := os.WriteFile(filepath.Join(dir, "compose.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestAComposeFileBecomesTaskDefinitions(t *testing.T) {
	got := pinion(t, withCompose(t, composeFile), "compose", "config")
	const want = `[{"family":"compose-shop-llm","cpu":"4096","volumes":[{"name":"shop_cache","dockerVolumeConfiguration":{"scope":"shared","autoprovision":true}},{"name":"volume-2","host":{"sourcePath":"/srv/models"}}],
		"containerDefinitions":[{"name":"llm","image":"vllm/vllm-openai:v0.6","cpu":4096,"memory":32768,"essential":true,"command":["--model","tiny"],
		"environment":[{"name":"HF_HOME","value":"/cache"}],"portMappings":[{"containerPort":8000,"hostPort":0,"protocol":"tcp","name":"tcp-8000"}],
		"mountPoints":[{"sourceVolume":"shop_cache","containerPath":"/cache"},{"sourceVolume":"volume-2","containerPath":"/models","readOnly":true}],"volumesFrom":[],
		"linuxParameters":{"sharedMemorySize":16384,"tmpfs":[{"containerPath":"/scratch","size":64}]},"resourceRequirements":[{"type":"GPU","value":"1"}],
		"healthCheck":{"command":["CMD-SHELL","curl -f localhost:8000/health"],"interval":10,"timeout":5,"retries":3,"startPeriod":120}}]},
		{"family":"compose-shop-web","containerDefinitions":[{"name":"web","image":"nginx","cpu":0,"memoryReservation":256,"essential":true,"environment":[],
		"portMappings":[{"containerPort":80,"hostPort":8080,"protocol":"tcp","name":"tcp-80"}],"mountPoints":[],"volumesFrom":[],
		"linuxParameters":{"devices":[{"hostPath":"/dev/fuse","containerPath":"/dev/fuse","permissions":["read","write","mknod"]},{"hostPath":"/dev/kvm","containerPath":"/dev/k","permissions":["read"]}]},"ulimits":[{"name":"memlock","softLimit":-1,"hardLimit":-1}],"resourceRequirements":[{"type":"GPU","value":"2"}],"stopTimeout":90}]}]`
	var was, is any
	if err := json.Unmarshal([]byte(want), &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got.out), &is); err != nil || got.code != 0 {
		t.Fatal(got, err)
	}
	one, _ := json.MarshalIndent(was, "", " ")
	if two, _ := json.MarshalIndent(is, "", " "); string(one) != string(two) {
		t.Errorf("%s", two)
	}
}

func TestTheExampleOfAComposeFileCanBeRun(t *testing.T) {
	example, err := os.ReadFile("../../docs/examples/compose/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := pinion(t, withCompose(t, string(example)), "compose", "config"); got.code != 0 || strings.Count(got.out, `"family": "compose-chat-`) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestComposeUpCreatesWhatIsMissingInOrder(t *testing.T) {
	h := withCompose(t, strings.Replace(composeFile, "{condition: service_healthy}", "{condition: service_started}", 1))
	var created []string
	h.operations["CreateService"] = func(in map[string]any) any {
		created = append(created, in["serviceName"].(string))
		return `{"service":` + beginning + `}`
	}
	if got := pinion(t, h, "compose", "up", "-d"); got.code != 0 || strings.Join(created, " ") != "shop-llm shop-web" {
		t.Errorf("%+v, %v", got, created)
	}
	tags, _ := json.Marshal(h.body(t, "CreateService")["tags"])
	if string(tags) != `[{"key":"com.docker.compose.project","value":"shop"}]` {
		t.Errorf("%s", tags)
	}
}

// The services of a file reach each other by their names in it, which are those of the cluster's namespace: the real API takes them. Those of another
// project with the same names are reached by theirs in the cluster.
func TestServicesOfAComposeFileHaveTheirNames(t *testing.T) {
	h, state := newAPIHost(t)
	names := func(project string) (all []string) {
		for _, s := range state.View().Services("") {
			for _, n := range s.Names {
				if strings.HasPrefix(s.Name, project+"-") {
					all = append(all, n.Name)
				}
			}
		}
		slices.Sort(all)
		return all
	}
	t.Chdir(t.TempDir())
	for _, c := range []struct{ project, note, want string }{
		{"shop", "", "cache.default shop-cache.default shop-web-9000.default shop-web.default web.default"},
		{"shop", "", "cache.default shop-cache.default shop-web-9000.default shop-web.default web.default"}, // nothing has changed
		{"blog", "as blog-web alone", "blog-cache.default blog-web-9000.default blog-web.default"},
	} {
		file := "name: " + c.project + "\nservices:\n  web: {image: nginx, ports: ['80', '9000', '53:53/udp']}\n  cache: {image: redis, expose: [6379]}\n  job: {image: busybox}\n"
		if err := os.WriteFile("compose.yaml", []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := pinion(t, h, "compose", "up", "-d"); got.code != 0 || !strings.Contains(got.err, c.note) {
			t.Fatalf("%s: %+v", c.project, got)
		}
		if got := strings.Join(names(c.project), " "); got != c.want {
			t.Errorf("%s: %s", c.project, got)
		}
	}
	web := state.View().Service("default", "shop-web")
	if connect := state.View().ServiceRevision(web.Primary().ID).Connect; len(web.Deployments) != 1 || !slices.Contains(connect.Addresses(&connect.Endpoints[0]), service.Address{Name: "web.default", Port: 80}) {
		t.Errorf("%+v, %+v", web, connect)
	}
}

// A service that is there is changed: its definition alone starts a rollout.
func TestComposeUpChangesWhatIsThere(t *testing.T) {
	h := withCompose(t, "name: shop\nservices: {web: {image: nginx}}")
	h.operations["DescribeServices"] = always(`{"services":[` + steady + `]}`)
	h.operations["TagResource"] = always(`{}`)
	if got := pinion(t, h, "compose", "up", "-d"); got.code != 0 {
		t.Fatal(got)
	}
	if in := h.body(t, "UpdateService"); in["service"] != "shop-web" || in["taskDefinition"] != "web:3" || in["desiredCount"] != 1.0 {
		t.Errorf("%v", in)
	}
	if _, created := h.bodies["CreateService"]; created {
		t.Error("it was created again")
	}
	if got := pinion(t, h, "compose", "up", "-d", "--profile", "none", "extra"); got.code != 2 {
		t.Errorf("a word too many: %+v", got)
	}
}

func TestComposeDownRemovesTheServicesOfTheProject(t *testing.T) {
	h := withCompose(t, composeFile)
	tagged := func(name, project string) string {
		return strings.Replace(steady, `"serviceName":"web"`, `"serviceName":"`+name+`","tags":[{"key":"com.docker.compose.project","value":"`+project+`"}]`, 1)
	}
	h.operations["ListServices"] = always(`{"serviceArns":["x/shop-a","x/other"]}`)
	h.operations["DescribeServices"] = always(`{"services":[` + tagged("shop-a", "shop") + `,` + tagged("other", "else") + `]}`)
	var removed []string
	h.operations["DeleteService"] = func(in map[string]any) any {
		removed = append(removed, in["service"].(string))
		return `{"service":` + gone + `}`
	}
	for _, words := range []string{"compose down", "compose down -p shop"} {
		if removed = nil; pinion(t, h, strings.Fields(words)...).code != 0 || strings.Join(removed, " ") != "shop-a" {
			t.Errorf("%s: %v", words, removed)
		}
	}
	if got := pinion(t, h, "compose", "up", "-d"); got.code == 0 || !strings.Contains(got.err, "shop-llm is healthy: leave -d out") || !strings.Contains(got.err, "also has shop-a") {
		t.Errorf("%+v", got)
	}
}

// What the pool has nothing for is refused by its name before anything is asked of it.
func TestComposeRefusesByName(t *testing.T) {
	for part, says := range map[string]string{
		"build: .": "build", "container_name: a": "container_name", "networks: [back]": "networks", "restart: 'no'": "restart", "restart: on-failure:3": "restart", "deploy: {restart_policy: {condition: on-failure}}": "restart_policy.condition", "tmpfs: /run": "tmpfs",
		"ipc: host": "ipc", "pid: host": "pid", "devices: [/dev/fuse:/dev/fuse:rx]": "permissions", "cpu_shares: 512": "cpu_shares", "platform: linux/arm64": "platform",
		"deploy: {placement: {constraints: [node.role==manager]}}": "deploy.placement", "deploy: {endpoint_mode: dnsrr}": "deploy.endpoint_mode",
		"deploy: {update_config: {parallelism: 2}}": "deploy.update_config.parallelism", "deploy: {restart_policy: {max_attempts: 3}}": "deploy.restart_policy.max_attempts",
		"deploy: {resources: {limits: {pids: 9}}}": "deploy.resources.limits.pids", "deploy: {mode: global-job}": "deploy.mode",
		"gpus: all": "say how many", "volumes: [./data:/data]": "relative path", "ports: ['127.0.0.1:80:80']": "host_ip", "ports: ['80-81:80']": "80-81", "expose: ['80-81']": "expose",
		"depends_on: {b: {condition: service_completed_successfully}}": "completed", "pull_policy: always": "pull_policy",
		"deploy: {resources: {reservations: {devices: [{driver: nvidia, device_ids: ['0'], capabilities: [gpu]}]}}}": "device_ids",
	} {
		h := withCompose(t, "name: shop\nnetworks: {back: }\nservices:\n  b: {image: i}\n  a:\n    image: i\n    "+part+"\n")
		if !strings.Contains(part, "back") {
			h = withCompose(t, "name: shop\nservices:\n  b: {image: i}\n  a:\n    image: i\n    "+part+"\n")
		}
		got := pinion(t, h, "compose", "up", "-d")
		if got.code != 2 || !strings.Contains(got.err, says) || len(h.bodies) > 0 {
			t.Errorf("%s: %+v %v", part, got, h.bodies)
		}
	}
}
