package many

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// scaledMost is the largest capacity of the scaled service: as many tasks as the pool has GPUs.
const scaledMost = 6

// TestScalingByRequests has a service share six GPUs with batch tasks: it has none while nobody asks it for anything, starts with the first request,
// which waits for it, grows with those in flight, and goes back to nothing. Batch tasks have the GPUs that it leaves.
func TestScalingByRequests(t *testing.T) {
	two := func() []string { return []string{"--gpus", "sim:2xh100"} }
	p := up(t, two(), two(), two())
	p.build(t, "streamserver")
	p.serveScaled(t)
	p.define(t, "batch", 1, "trap 'exit 0' TERM; while :; do usleep 100000; done")
	p.mustCall(t, p.Hosts()[0], "RunTask", object{
		"taskDefinition": "batch", "count": scaledMost, "capacityProviderStrategy": []object{{"capacityProvider": "PINION"}}, "tags": []object{{"key": "pinion.preemptible", "value": "true"}},
	}, &object{})
	p.waitShared(t, 0, scaledMost)
	t.Run("from nothing by a request that waits", p.testWokenByARequest)
	t.Run("out by requests in flight, and back to nothing", p.testFollowsRequests)
}

// serveScaled makes a load balancer and a service without tasks behind it, which is scaled by requests in flight.
func (p *pool) serveScaled(t *testing.T) {
	t.Helper()
	out, err := p.sh(t, p.Hosts()[0], fmt.Sprintf(`set -e
aws ecs register-task-definition --family streams --network-mode bridge --volumes '[{"name":"w","host":{"sourcePath":"%s"}}]' --container-definitions '[{"name":"main","image":"busybox",
	"memory":64,"entryPoint":["/w/streamserver"],"mountPoints":[{"sourceVolume":"w","containerPath":"/w"}],"portMappings":[{"containerPort":8000}],
	"resourceRequirements":[{"type":"GPU","value":"1"}]}]' >/dev/null
lb=$(aws elbv2 create-load-balancer --name front --subnets any --query 'LoadBalancers[0].LoadBalancerArn' --output text)
tg=$(aws elbv2 create-target-group --name streams --protocol HTTP --port 8000 --health-check-path /health --health-check-interval-seconds 5 --tags Key=pinion.wait-timeout,Value=2m \
	--query 'TargetGroups[0].TargetGroupArn' --output text)
aws elbv2 create-listener --load-balancer-arn $lb --protocol HTTP --port %d --default-actions Type=forward,TargetGroupArn=$tg >/dev/null
aws ecs create-service --service-name streams --task-definition streams --desired-count 0 --load-balancers targetGroupArn=$tg,containerName=main,containerPort=8000 \
	--tags key=pinion.healthy-after,value=1s key=pinion.priority,value=10 >/dev/null
pinion service scale streams --min 0 --max %d --target requests=2 --out-cooldown 0s --in-cooldown 1m >&2`, p.witness, listenerPort, scaledMost))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// waitShared waits until so many tasks of the service and of the batch run.
func (p *pool) waitShared(t *testing.T, service, batch int) {
	t.Helper()
	eventuallyWithin(t, rolloutTimeout, fmt.Sprintf("%d tasks of the service and %d of the batch run", service, batch), func() bool {
		now := p.describeStreams(t, p.Hosts()[0])
		return now.Running == service && now.Desired == service && p.runningOf(t, "batch") == batch
	})
}

// runningOf counts the running tasks of a family.
func (p *pool) runningOf(t *testing.T, family string) (n int) {
	t.Helper()
	arns := p.list(t, p.Hosts()[0], "ListTasks", object{"family": family})
	if len(arns) == 0 {
		return 0
	}
	var answer tasks
	p.mustCall(t, p.Hosts()[0], "DescribeTasks", object{"tasks": arns}, &answer)
	for _, task := range answer.Tasks {
		if task.LastStatus == "RUNNING" {
			n++
		}
	}
	return n
}

func (p *pool) testWokenByARequest(t *testing.T) {
	s := &streams{t: t, http: http.Client{Transport: &http.Transport{DialContext: p.Dial, DisableKeepAlives: true}}}
	if err := s.read(netip.AddrPortFrom(p.Hosts()[1].IP, listenerPort).String()); err != nil {
		t.Fatal(err)
	}
	p.waitShared(t, 1, scaledMost-1)
	p.mustHaveSaid(t, "has set its desired count to 1: requests that wait 1: 0 -> 1")
}

func (p *pool) testFollowsRequests(t *testing.T) {
	s := p.startStreams(t, listenerPort, 8) // of two seconds: sixteen in flight
	p.waitShared(t, scaledMost, 0)
	s.mustBeWhole()
	p.mustHaveSaid(t, "has set its desired count to 6: requests in flight per replica") // in one step or two, as fast as the streams begin
	p.waitShared(t, 0, scaledMost)
	p.mustHaveSaid(t, " -> 0, policy requests")
}

// mustHaveSaid fails unless the events of the service have said each of these.
func (p *pool) mustHaveSaid(t *testing.T, parts ...string) {
	t.Helper()
	events := p.describeStreams(t, p.Hosts()[0]).Events
	for _, part := range parts {
		if !slices.ContainsFunc(events, func(e event) bool { return strings.Contains(e.Message, part) }) {
			t.Errorf("no event says %q: %+v", part, events)
		}
	}
}
