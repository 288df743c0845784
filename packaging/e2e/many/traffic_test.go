package many

import (
	"fmt"
	"strings"
	"testing"

	"pinion/packaging/testbed"
)

// movedReplicas is how many tasks each of the two revisions of a service has while its traffic moves: the pool has room for both.
const movedReplicas = 4

// TestTrafficMovesUnderStreams moves the traffic of a service between two target groups of a listener while clients read streams through
// every host. A task ends at SIGTERM at once, so a stream that is sent to one which is to stop is lost.
func TestTrafficMovesUnderStreams(t *testing.T) {
	gpus := func() []string { return []string{"--gpus", "sim:3xh100"} }
	p := up(t, gpus(), gpus(), gpus())
	p.build(t, "streamserver")
	p.serveMoved(t)
	t.Run("all at once, and no stream is lost", func(t *testing.T) { p.testTrafficMoves(t, object{"strategy": "BLUE_GREEN"}) })
	t.Run("a little first, and no stream is lost", func(t *testing.T) { p.testTrafficMoves(t, canary(0)) })
	t.Run("it stays where it is while the new tasks fail", p.testBrokenGreenGetsNoTraffic)
	t.Run("back at once, and no stream is lost", p.testTrafficMovesBack)
}

// serveMoved makes the load balancer and the service, and waits until every host has a target.
func (p *pool) serveMoved(t *testing.T) {
	t.Helper()
	h := p.Hosts()[0]
	out, err := p.sh(t, h, fmt.Sprintf(`set -e
register() { aws ecs register-task-definition --family streams --network-mode bridge --volumes '[{"name":"w","host":{"sourcePath":"%s"}}]' --container-definitions '[{"name":"main","image":"busybox",
	"memory":64,"entryPoint":["/w/streamserver"],"command":['"$1"'],"mountPoints":[{"sourceVolume":"w","containerPath":"/w"}],"portMappings":[{"containerPort":8000}],
	"resourceRequirements":[{"type":"GPU","value":"1"}]}]' >/dev/null; }
register; register '"broken"'
lb=$(aws elbv2 create-load-balancer --name front --subnets any --query 'LoadBalancers[0].LoadBalancerArn' --output text)
group() { aws elbv2 create-target-group --name $1 --protocol HTTP --port 8000 --health-check-path /health --health-check-interval-seconds 5 --query 'TargetGroups[0].TargetGroupArn' --output text; }
blue=$(group blue); green=$(group green)
listener=$(aws elbv2 create-listener --load-balancer-arn $lb --protocol HTTP --port %d --default-actions Type=forward,TargetGroupArn=$blue --query 'Listeners[0].ListenerArn' --output text)
aws ecs create-service --service-name streams --task-definition streams:1 --desired-count %d \
	--load-balancers "targetGroupArn=$blue,containerName=main,containerPort=8000,advancedConfiguration={alternateTargetGroupArn=$green,productionListenerRule=$listener,roleArn=arn:aws:iam::123456789012:role/ecs}" \
	--tags key=pinion.healthy-after,value=1s >/dev/null`, p.witness, listenerPort, movedReplicas))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.waitMoved(t, h, "streams:1")
	s := p.startStreams(t, listenerPort, 1)
	s.stop()
	for _, h := range p.Hosts() {
		eventually(t, "the listener of "+h.Name+" answers", func() bool { return s.answers(h, listenerPort) })
	}
}

// waitMoved waits until the service runs that definition alone.
func (p *pool) waitMoved(t *testing.T, at *testbed.Host, definition string) {
	t.Helper()
	eventuallyWithin(t, rolloutTimeout, "the service runs "+definition+" alone", func() bool {
		now := p.describeStreams(t, at)
		return strings.HasSuffix(now.Definition, "/"+definition) && len(now.Deployments) == 1 && now.Deployments[0].State == "COMPLETED" && now.Running == movedReplicas
	})
}

// canary is the strategy that moves a tenth of the traffic first, and the rest so many minutes later.
func canary(minutes int) object {
	return object{"strategy": "CANARY", "canaryConfiguration": object{"canaryPercent": 10, "canaryBakeTimeInMinutes": minutes}}
}

// startMove begins a rollout to a definition by a strategy, with no bake time at its end, and returns its deployment.
func (p *pool) startMove(t *testing.T, at *testbed.Host, definition string, strategy object) (arn string) {
	t.Helper()
	var out struct {
		ServiceDeployments []struct {
			ARN string `json:"serviceDeploymentArn"`
		} `json:"serviceDeployments"`
	}
	strategy["bakeTimeInMinutes"], strategy["deploymentCircuitBreaker"] = 0, object{"enable": true, "rollback": true}
	p.mustCall(t, at, "UpdateService", object{"service": "streams", "taskDefinition": definition, "forceNewDeployment": true, "deploymentConfiguration": strategy}, &object{})
	eventually(t, "the rollout has begun", func() bool {
		p.mustCall(t, at, "ListServiceDeployments", object{"service": "streams", "status": []string{"PENDING", "IN_PROGRESS"}}, &out)
		return len(out.ServiceDeployments) == 1
	})
	return out.ServiceDeployments[0].ARN
}

func (p *pool) testTrafficMoves(t *testing.T, strategy object) {
	h := p.leader(t)
	s := p.startStreams(t, listenerPort, *streamRate)
	arn := p.startMove(t, h, "streams:1", strategy)
	p.waitDeployment(t, h, arn, "SUCCESSFUL")
	p.waitMoved(t, h, "streams:1")
	s.mustBeWhole()
}

func (p *pool) testBrokenGreenGetsNoTraffic(t *testing.T) {
	h := p.leader(t)
	s := p.startStreams(t, listenerPort, *streamRate)
	arn := p.startMove(t, h, "streams:2", object{"strategy": "BLUE_GREEN"})
	p.waitDeployment(t, h, arn, "ROLLBACK_SUCCESSFUL")
	p.waitMoved(t, h, "streams:1")
	s.mustBeWhole()
}

// The rollout rests with a tenth of the traffic on its new tasks, and is rolled back there.
func (p *pool) testTrafficMovesBack(t *testing.T) {
	h := p.leader(t)
	s := p.startStreams(t, listenerPort, *streamRate)
	arn := p.startMove(t, h, "streams:1", canary(60))
	eventuallyWithin(t, rolloutTimeout, "a tenth of the traffic has moved", func() bool { return p.describeDeployment(t, h, arn).Stage == "PRODUCTION_TRAFFIC_SHIFT" })
	p.mustCall(t, h, "StopServiceDeployment", object{"serviceDeploymentArn": arn, "stopType": "ROLLBACK"}, &object{})
	p.waitDeployment(t, h, arn, "ROLLBACK_SUCCESSFUL")
	p.waitMoved(t, h, "streams:1")
	s.mustBeWhole()
}

// deployment is the part of DescribeServiceDeployments that tests read.
type deployment struct {
	Status string `json:"status"`
	Reason string `json:"statusReason"`
	Stage  string `json:"lifecycleStage"`
}

func (p *pool) describeDeployment(t *testing.T, at *testbed.Host, arn string) deployment {
	t.Helper()
	var out struct{ ServiceDeployments []deployment }
	p.mustCall(t, at, "DescribeServiceDeployments", object{"serviceDeploymentArns": []string{arn}}, &out)
	if len(out.ServiceDeployments) != 1 {
		t.Fatalf("%+v", out)
	}
	return out.ServiceDeployments[0]
}

// waitDeployment waits until a rollout has ended so.
func (p *pool) waitDeployment(t *testing.T, at *testbed.Host, arn, status string) {
	t.Helper()
	eventuallyWithin(t, rolloutTimeout, "the rollout is "+status, func() bool { return p.describeDeployment(t, at, arn).Status == status })
}
