package many

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

var streamRate = flag.Int("streams", 20, "how many streams of two seconds begin in a second while a service is rolled out")

const (
	listenerPort = 8085
	replicas     = 8
	// rolloutTimeout is for eight replacements, one after the other.
	rolloutTimeout = 3 * waitTimeout
)

// TestRolloutsUnderStreams replaces the eight tasks of a service that has every GPU of the pool, behind a load balancer, while clients read
// streams from them through every host. A task ends at SIGTERM at once: whatever is lost then, Pinion has lost.
func TestRolloutsUnderStreams(t *testing.T) {
	two := func() []string { return []string{"--gpus", "sim:2xh100"} }
	p := up(t, two(), two(), two(), two())
	p.build(t, "streamserver")
	p.serveStreams(t)
	t.Run("no stream is lost, and seven tasks serve at least", p.testRolloutIsNotNoticed)
	t.Run("nor when the new tasks fail, and the service goes back by itself", p.testBrokenRolloutGoesBack)
	t.Run("hosts are killed, and lose those through themselves alone", p.testHostsKilledInARollout)
}

// build makes a program of a folder here, for containers, as /w/PROGRAM.
func (p *pool) build(t *testing.T, program string) {
	t.Helper()
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(p.witness, program), "./"+program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// serveStreams makes the load balancer and the service, and waits until every host has a target.
func (p *pool) serveStreams(t *testing.T) {
	t.Helper()
	h := p.Hosts()[0]
	out, err := p.sh(t, h, fmt.Sprintf(`set -e
register() { aws ecs register-task-definition --family streams --network-mode bridge --volumes '[{"name":"w","host":{"sourcePath":"%s"}}]' --container-definitions '[{"name":"main","image":"busybox",
	"memory":64,"entryPoint":["/w/streamserver"],"command":['"$1"'],"mountPoints":[{"sourceVolume":"w","containerPath":"/w"}],"portMappings":[{"containerPort":8000}],
	"resourceRequirements":[{"type":"GPU","value":"1"}]}]' >/dev/null; }
register; register '"broken"'
lb=$(aws elbv2 create-load-balancer --name front --subnets any --query 'LoadBalancers[0].LoadBalancerArn' --output text)
tg=$(aws elbv2 create-target-group --name streams --protocol HTTP --port 8000 --health-check-path /health --health-check-interval-seconds 5 --query 'TargetGroups[0].TargetGroupArn' --output text)
aws elbv2 create-listener --load-balancer-arn $lb --protocol HTTP --port %d --default-actions Type=forward,TargetGroupArn=$tg >/dev/null
aws ecs create-service --service-name streams --task-definition streams:1 --desired-count %d --load-balancers targetGroupArn=$tg,containerName=main,containerPort=8000 \
	--tags key=pinion.healthy-after,value=1s --deployment-configuration 'deploymentCircuitBreaker={enable=true,rollback=true}' >/dev/null`,
		p.witness, listenerPort, replicas))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.waitSteady(t, h, "streams:1")
	s := p.startStreams(t, listenerPort, 1)
	s.stop()
	for _, h := range p.Hosts() {
		eventually(t, "the listener of "+h.Name+" answers", func() bool { return s.answers(h, listenerPort) })
	}
}

// service is the part of DescribeServices that tests read.
type service struct {
	Running     int     `json:"runningCount"`
	Desired     int     `json:"desiredCount"`
	Definition  string  `json:"taskDefinition"`
	Events      []event `json:"events"`
	Deployments []struct {
		State   string `json:"rolloutState"`
		Running int    `json:"runningCount"`
		Failed  int    `json:"failedTasks"`
	} `json:"deployments"`
}

type event struct {
	Message string `json:"message"`
}

func (p *pool) describeStreams(t *testing.T, at *testbed.Host) service {
	t.Helper()
	var out struct{ Services []service }
	p.mustCall(t, at, "DescribeServices", object{"services": []string{"streams"}}, &out)
	if len(out.Services) != 1 {
		t.Fatalf("%+v", out)
	}
	return out.Services[0]
}

// waitSteady waits until the service runs that definition alone, and returns the fewest of its tasks that served meanwhile.
func (p *pool) waitSteady(t *testing.T, at *testbed.Host, definition string) (fewest int) {
	t.Helper()
	fewest = replicas
	eventuallyWithin(t, rolloutTimeout, "the service runs "+definition+" alone", func() bool {
		serving, known := p.servingTasks(at)
		if known {
			fewest = min(fewest, serving)
		}
		now := p.describeStreams(t, at)
		return strings.HasSuffix(now.Definition, "/"+definition) && len(now.Deployments) == 1 && now.Deployments[0].State == "COMPLETED" && now.Running == replicas && serving == replicas
	})
	return fewest
}

// servingTasks is how many tasks of the service the proxies send requests to: those whose targets are healthy, and that were not asked to stop.
func (p *pool) servingTasks(at *testbed.Host) (n int, known bool) {
	var progress struct {
		Deployments []struct {
			Healthy int `json:"healthy"`
		} `json:"deployments"`
	}
	if err := p.get(at, "services/progress?service=streams", &progress); err != nil {
		return 0, false
	}
	for _, d := range progress.Deployments {
		n += d.Healthy
	}
	return n, true
}

func (p *pool) testRolloutIsNotNoticed(t *testing.T) {
	h := p.leader(t)
	s := p.startStreams(t, listenerPort, *streamRate)
	p.mustCall(t, h, "UpdateService", object{"service": "streams", "forceNewDeployment": true}, &object{})
	if fewest := p.waitSteady(t, h, "streams:1"); fewest < replicas-1 {
		t.Errorf("only %d of %d tasks served at some time", fewest, replicas)
	}
	s.mustBeWhole()
}

func (p *pool) testBrokenRolloutGoesBack(t *testing.T) {
	h := p.leader(t)
	s := p.startStreams(t, listenerPort, *streamRate)
	p.mustCall(t, h, "UpdateService", object{"service": "streams", "taskDefinition": "streams:2"}, &object{})
	eventually(t, "tasks of the new revision fail", func() bool {
		now := p.describeStreams(t, h)
		return len(now.Deployments) > 1 && (now.Deployments[0].Failed > 0 || now.Deployments[1].State == "FAILED")
	})
	p.waitSteady(t, h, "streams:1")
	s.mustBeWhole()
}

// An agent, a server and the leader are killed while one rollout goes on.
func (p *pool) testHostsKilledInARollout(t *testing.T) {
	leader := p.leader(t)
	killed := []*testbed.Host{p.anyHost(t, []string{"agent"}), p.otherServer(t, leader), leader}
	witness := killed[0]
	s := p.startStreams(t, listenerPort, *streamRate)
	p.mustCall(t, witness, "UpdateService", object{"service": "streams", "forceNewDeployment": true}, &object{})
	var now service
	defer func() {
		if t.Failed() {
			t.Logf("the service as it was seen last: %+v", now)
		}
	}()
	for n, h := range killed {
		from := killed[(n+1)%len(killed)] // which runs
		eventuallyWithin(t, rolloutTimeout, "more tasks were replaced", func() bool {
			now = p.describeStreams(t, from)
			return len(now.Deployments) > 1 && now.Deployments[0].Running > 2*n
		})
		must(t, h.Kill(t.Context()))
		testbed.Rest(t.Context(), time.Second) // streams through that host fail meanwhile
		p.start(t, h)
	}
	p.waitSteady(t, witness, "streams:1")
	s.mustBeWhole(killed...)
}

// TestTasksMoveToAnAvailabilityZoneThatIsBack drains the one host of a zone while a service starts, so that its tasks are all in the other zone, and takes
// it back: one task after the other moves there, while as many as ever run.
func TestTasksMoveToAnAvailabilityZoneThatIsBack(t *testing.T) {
	zoned := func(zone string) []string {
		return []string{"--gpus", "sim:4xh100", "--attribute", "ecs.availability-zone=" + zone}
	}
	p := up(t, zoned("a"), zoned("b"))
	h, away := p.Hosts()[0], p.Hosts()[1]
	p.mustCall(t, h, "RegisterTaskDefinition", object{"family": "idle", "networkMode": "none", "containerDefinitions": []object{{
		"name": "main", "image": "busybox", "memory": 16, "command": []string{"sleep", "9999"}, "stopTimeout": 2, "resourceRequirements": []object{{"type": "GPU", "value": "1"}},
	}}}, &object{})
	if _, err := p.sh(t, h, `pinion --data-dir "$0" drain `+away.Name); err != nil {
		t.Fatal(err)
	}
	p.mustCall(t, h, "CreateService", object{"serviceName": "idle", "taskDefinition": "idle", "desiredCount": 4, "tags": []object{{"key": "pinion.healthy-after", "value": "1s"}}}, &object{})
	now := func() (s service, zones map[string]int) {
		var out struct{ Services []service }
		p.mustCall(t, h, "DescribeServices", object{"services": []string{"idle"}}, &out)
		var tasks struct {
			Tasks []struct {
				Zone string `json:"availabilityZone"`
			}
		}
		if running := p.list(t, h, "ListTasks", object{"serviceName": "idle", "desiredStatus": "RUNNING"}); len(running) > 0 {
			p.mustCall(t, h, "DescribeTasks", object{"tasks": running}, &tasks)
		}
		zones = map[string]int{}
		for _, task := range tasks.Tasks {
			zones[task.Zone]++
		}
		return out.Services[0], zones
	}
	eventually(t, "all tasks run in a", func() bool {
		s, zones := now()
		return s.Deployments[0].State == "COMPLETED" && zones["a"] == 4
	})
	if _, err := p.sh(t, h, `pinion --data-dir "$0" activate `+away.Name); err != nil {
		t.Fatal(err)
	}
	eventually(t, "two run in each", func() bool {
		s, zones := now()
		if s.Running < 4 {
			t.Errorf("%d run: %+v", s.Running, zones)
		}
		return zones["a"] == 2 && zones["b"] == 2 && s.Running == 4
	})
}
