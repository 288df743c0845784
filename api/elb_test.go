package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"pinion/api/elb"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// balancing is a request for an operation of Elastic Load Balancing.
func balancing(action string, parameters ...string) *http.Request {
	form := url.Values{"Action": {action}, "Version": {elb.Version}}
	for i := 0; i < len(parameters); i += 2 {
		form.Set(parameters[i], parameters[i+1])
	}
	r := httptest.NewRequest("POST", "/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	return r
}

// Keys that are not an administrator's, or are one's for some clusters, try everything that changes load balancers. They may read them.
func TestOnlyAdministratorsOfThePoolChangeLoadBalancers(t *testing.T) {
	b := newFixture(t)
	b.config.Trusted = false
	bearers := map[string]string{
		"read":          b.withKey(t, accesskey.Key{ID: "AKIAREAD", Role: accesskey.RoleRead}),
		"submit":        b.withKey(t, accesskey.Key{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit}),
		"cluster admin": b.withKey(t, accesskey.Key{ID: "AKIACLUSTER", Role: accesskey.RoleAdmin, Cluster: "default"}),
	}
	admin := b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	entries := b.audited(t)
	for name, operation := range elb.Operations {
		for who, bearer := range bearers {
			got := b.as(bearer, balancing(name))
			if denied := strings.Contains(got.Body.String(), "<Code>AccessDeniedException</Code>"); denied != operation.Writes {
				t.Errorf("%s by the key %s: %d %s", name, who, got.Code, got.Body)
			}
		}
		if got := b.as(admin, balancing(name)); strings.Contains(got.Body.String(), "AccessDenied") {
			t.Errorf("%s by an administrator: %d %s", name, got.Code, got.Body)
		}
		if got := b.serve(balancing(name)); got.Code == 200 {
			t.Errorf("%s without a key: %s", name, got.Body)
		}
	}
	if len(entries()) == 0 {
		t.Error("the audit log has nothing of it")
	}
}

// What a form asks for and what its signature is for are the same service.
func TestASignatureForAnotherServiceChangesNoLoadBalancer(t *testing.T) {
	b := newFixture(t)
	b.config.Trusted = false
	for service, want := range map[string]string{"elasticloadbalancing": "<DescribeLoadBalancersResult>", "sts": "InvalidSignatureException", "ec2": "InvalidSignatureException", "ecs": "InvalidSignatureException"} {
		body := "Action=DescribeLoadBalancers&Version=" + elb.Version
		got := b.serve(signedTo(t, keyID, service, "/", body, epoch, http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}))
		if !strings.Contains(got.Body.String(), want) {
			t.Errorf("signed for %s: %d %s", service, got.Code, got.Body)
		}
	}
}

// A key for one team or cluster sees the targets alone that are its tasks.
func TestTargetsAreSeenByThoseWhoSeeTheTask(t *testing.T) {
	b := ready(t)
	b.mustApply(t, raftfsm.Wrap(loadbalancer.CreateGroup{Group: loadbalancer.Group{
		ID: "g", Name: "web", Protocol: traffic.HTTP, TargetType: loadbalancer.IP, Targets: []loadbalancer.Target{{Address: "10.9.9.9", Port: 80}}}}))
	b.mustApply(t, raftfsm.CreateService{
		Service:  service.Service{ID: "s", Cluster: "default", Name: "web", Desired: 1, Strategy: service.Replica},
		Revision: service.Revision{ID: "1", Definition: "tensorflow-1-gpu:1", LoadBalancers: []service.LoadBalancer{{Group: "g", Container: "main", Port: 80}}},
		Rollout:  service.Rollout{ID: "r"},
	})
	b.mustApply(t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "default", Tasks: []*spec.Task{{
		ID: "t", Cluster: "default", HostID: hostID, Definition: "tensorflow-1-gpu:1", LastStatus: spec.Running, DesiredStatus: spec.Running, Service: &spec.ServiceMember{ID: "s", Deployment: "1"},
		Tags:       []spec.Tag{{Key: spec.TagTeam, Value: "theirs"}},
		Containers: []spec.Container{{Name: "main", Bindings: []spec.NetworkBinding{{ContainerPort: 80, HostPort: 32770, Protocol: "tcp"}}}},
	}}}}})
	b.config.Trusted = false
	ask := balancing("DescribeTargetHealth", "TargetGroupArn", "arn:aws:elasticloadbalancing:us-east-1:"+spec.AccountID+":targetgroup/web/g")
	for who, c := range map[string]struct {
		key  accesskey.Key
		sees bool
	}{
		"all":           {accesskey.Key{ID: "AKIAALL", Role: accesskey.RoleRead}, true},
		"its cluster":   {accesskey.Key{ID: "AKIAIN", Role: accesskey.RoleRead, Cluster: "default"}, true},
		"other cluster": {accesskey.Key{ID: "AKIAOUT", Role: accesskey.RoleRead, Cluster: "lab"}, false},
		"other team":    {accesskey.Key{ID: "AKIATEAM", Role: accesskey.RoleRead, Grant: accesskey.Grant{Teams: []string{"mine"}}}, false},
	} {
		got := b.as(b.withKey(t, c.key), ask.Clone(t.Context())).Body.String()
		if strings.Contains(got, "<Port>32770</Port>") != c.sees || !strings.Contains(got, "10.9.9.9") {
			t.Errorf("a key for %s: %s", who, got)
		}
		ask = balancing("DescribeTargetHealth", "TargetGroupArn", "arn:aws:elasticloadbalancing:us-east-1:"+spec.AccountID+":targetgroup/web/g")
	}
}

// A target is asked for by its address, and by its port where one is given. One that is none is unused.
func TestTheHealthOfTheTargetsThatAreAskedFor(t *testing.T) {
	b := ready(t)
	b.mustApply(t, raftfsm.Wrap(loadbalancer.CreateGroup{Group: loadbalancer.Group{
		ID: "g", Name: "web", Protocol: traffic.HTTP, TargetType: loadbalancer.IP, Targets: []loadbalancer.Target{{Address: "10.9.9.1", Port: 80}, {Address: "10.9.9.1", Port: 81}, {Address: "10.9.9.2", Port: 80}}}}))
	arn := "arn:aws:elasticloadbalancing:us-east-1:" + spec.AccountID + ":targetgroup/web/g"
	for name, c := range map[string]struct {
		asked           []string
		healthy, unused int
	}{
		"no target":     {nil, 3, 0},
		"an address":    {[]string{"Targets.member.1.Id", "10.9.9.1"}, 2, 0},
		"a port":        {[]string{"Targets.member.1.Id", "10.9.9.1", "Targets.member.1.Port", "81"}, 1, 0},
		"no such port":  {[]string{"Targets.member.1.Id", "10.9.9.2", "Targets.member.1.Port", "81"}, 0, 1},
		"one of either": {[]string{"Targets.member.1.Id", "10.9.9.3", "Targets.member.2.Id", "10.9.9.2"}, 1, 1},
	} {
		got := b.serve(balancing("DescribeTargetHealth", append(c.asked, "TargetGroupArn", arn)...)).Body.String()
		if healthy, unused := strings.Count(got, "<State>healthy</State>"), strings.Count(got, "<State>unused</State>"); healthy != c.healthy || unused != c.unused {
			t.Errorf("%s: %d and %d, in %s", name, healthy, unused, got)
		}
	}
}

// A target that its host found unhealthy has ELB's code and what the host found; before that, and without such words, ELB's own.
func TestTheHealthOfATargetSaysWhatItsHostFound(t *testing.T) {
	b := ready(t)
	b.mustApply(t, raftfsm.Wrap(loadbalancer.CreateGroup{Group: loadbalancer.Group{ID: "g", Name: "web", Protocol: traffic.HTTP, TargetType: loadbalancer.Instance}}))
	b.mustApply(t, raftfsm.CreateService{
		Service:  service.Service{ID: "s", Cluster: "default", Name: "web", Desired: 1, Strategy: service.Replica},
		Revision: service.Revision{ID: "1", Definition: "tensorflow-1-gpu:1", LoadBalancers: []service.LoadBalancer{{Group: "g", Container: "main", Port: 80}}},
		Rollout:  service.Rollout{ID: "r"},
	})
	b.mustApply(t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "default", Tasks: []*spec.Task{{
		ID: "t", Cluster: "default", HostID: hostID, Definition: "tensorflow-1-gpu:1", LastStatus: spec.Running, DesiredStatus: spec.Running, Service: &spec.ServiceMember{ID: "s", Deployment: "1"},
		Containers: []spec.Container{{Name: "main", Bindings: []spec.NetworkBinding{{ContainerPort: 80, HostPort: 32770, Protocol: "tcp"}}}},
	}}}}})
	for _, c := range []struct {
		found traffic.TargetHealth
		want  string
	}{
		{traffic.TargetHealth{}, "<State>initial</State><Reason>Elb.InitialHealthChecking</Reason><Description>Initial health checks in progress</Description>"},
		{traffic.TargetHealth{State: traffic.Unhealthy, Reason: "Target.ResponseCodeMismatch", Detail: "Health checks failed with these codes: [200]"},
			"<State>unhealthy</State><Reason>Target.ResponseCodeMismatch</Reason><Description>Health checks failed with these codes: [200]</Description>"},
		{traffic.TargetHealth{State: traffic.Unhealthy}, "<State>unhealthy</State><Reason>Target.FailedHealthChecks</Reason><Description>Health checks failed</Description>"},
		{traffic.TargetHealth{State: traffic.Healthy}, "<State>healthy</State></TargetHealth>"},
	} {
		if c.found.State != "" {
			c.found.Group, c.found.Container, c.found.Port = "g", "main", 80
			b.mustApply(t, raftfsm.ReportTasks{HostID: hostID, Reports: []spec.TaskReport{{TaskID: "t", Status: spec.Running, Targets: []traffic.TargetHealth{c.found}}}})
		}
		got := b.serve(balancing("DescribeTargetHealth", "TargetGroupArn", "arn:aws:elasticloadbalancing:us-east-1:"+spec.AccountID+":targetgroup/web/g")).Body.String()
		if !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c.found, got)
		}
	}
}

// The AWS CLI makes, shows, changes and deletes everything, with its waiters.
func TestTheAWSCLIMakesLoadBalancers(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("aws"); err != nil {
		t.Skip("the AWS CLI is not on this machine: this test says nothing")
	}
	_, server := listening(t)
	out, err := shell(t, server, `set -e
lb=$(aws elbv2 create-load-balancer --name front --subnets subnet-1 subnet-2 --query 'LoadBalancers[0].LoadBalancerArn' --output text)
aws elbv2 wait load-balancer-available --load-balancer-arns $lb
tg=$(aws elbv2 create-target-group --name web --protocol HTTP --port 8000 --target-type ip --vpc-id vpc-1 --query 'TargetGroups[0].TargetGroupArn' --output text)
aws elbv2 modify-target-group-attributes --target-group-arn $tg --attributes Key=deregistration_delay.timeout_seconds,Value=5 --query "Attributes[?Key=='deregistration_delay.timeout_seconds'].Value" --output text
aws elbv2 modify-target-group --target-group-arn $tg --health-check-path /health --query 'TargetGroups[0].HealthCheckPath' --output text
aws elbv2 register-targets --target-group-arn $tg --targets Id=10.0.0.9
aws elbv2 wait target-in-service --target-group-arn $tg
aws elbv2 describe-target-health --target-group-arn $tg --query 'TargetHealthDescriptions[].[Target.Id,Target.Port,TargetHealth.State]' --output text
ls=$(aws elbv2 create-listener --load-balancer-arn $lb --protocol HTTP --port 8080 --default-actions Type=forward,TargetGroupArn=$tg --query 'Listeners[0].ListenerArn' --output text)
rule=$(aws elbv2 create-rule --listener-arn $ls --priority 5 --conditions Field=path-pattern,Values=/api/* --actions Type=fixed-response,FixedResponseConfig='{StatusCode=404,ContentType=text/plain}' --query 'Rules[0].RuleArn' --output text)
aws elbv2 set-rule-priorities --rule-priorities RuleArn=$rule,Priority=7 --query 'Rules[0].Priority' --output text
aws elbv2 describe-rules --listener-arn $ls --query 'Rules[].[Priority,IsDefault,Actions[0].Type]' --output text
aws elbv2 add-tags --resource-arns $lb $rule --tags Key=a,Value=b
aws elbv2 describe-tags --resource-arns $rule --query 'TagDescriptions[].Tags[].[Key,Value]' --output text
aws elbv2 delete-target-group --target-group-arn $tg 2>&1 | grep -o ResourceInUse
aws elbv2 create-listener --load-balancer-arn $lb --protocol HTTP --port 8080 --default-actions Type=forward,TargetGroupArn=$tg 2>&1 | grep -o DuplicateListener
aws elbv2 create-listener --load-balancer-arn $lb --protocol HTTP --port 7400 --default-actions Type=forward,TargetGroupArn=$tg 2>&1 | grep -o 'such as SSH or Pinion'
aws elbv2 describe-load-balancers --names none 2>&1 | grep -o LoadBalancerNotFound
aws elbv2 delete-load-balancer --load-balancer-arn $lb
aws elbv2 wait load-balancers-deleted --load-balancer-arns $lb
aws elbv2 delete-target-group --target-group-arn $tg
aws elbv2 describe-target-groups --query 'length(TargetGroups)'`)
	want := "5\n/health\n10.0.0.9\t8000\thealthy\n7\n7\tFalse\tfixed-response\ndefault\tTrue\tforward\na\tb\n" +
		"ResourceInUse\nDuplicateListener\nsuch as SSH or Pinion\nLoadBalancerNotFound\n0\n"
	if err != nil || out != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}
