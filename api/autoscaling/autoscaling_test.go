package autoscaling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// fixture carries out operations on a state without Raft and without HTTP. It has service web of the default cluster, service lab of the cluster
// lab, and service vision of the team vision.
type fixture struct {
	state *raftfsm.State
	index uint64
}

func (f *fixture) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	f.index++
	entry, err := raftfsm.Encode(c)
	if err != nil {
		return nil, err
	}
	if c, err = raftfsm.Decode(entry); err != nil {
		return nil, err
	}
	return f.state.Apply(f.index, c)
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{state: raftfsm.NewState()}
	all := []raftfsm.Command{
		raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}}, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab"}},
		raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Containers: []spec.ContainerDefinition{{Name: "c", Memory: 4}}}},
	}
	for _, s := range []service.Service{
		{Name: "web", Cluster: spec.DefaultCluster, Owner: &spec.TaskOwner{Key: "AKIA1"}}, {Name: "lab", Cluster: "lab"},
		{Name: "vision", Cluster: spec.DefaultCluster, Tags: []spec.Tag{{Key: spec.TagTeam, Value: "vision"}}},
	} {
		s.ID, s.Strategy, s.Desired = strings.Repeat(s.Name[:1], 32), service.Replica, 1
		all = append(all, raftfsm.CreateService{Service: s, Revision: service.Revision{ID: s.Name, Definition: "f:1"}, Rollout: service.Rollout{ID: s.Name, CreatedAt: epoch}})
	}
	for _, c := range all {
		if _, err := f.Propose(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	return f
}

var admin = auth.Principal{ARN: "root", Role: accesskey.RoleAdmin, Region: "us-east-1"}

// as carries out an operation for a principal with the role that it needs.
func (f *fixture) as(p auth.Principal, operation, body string) (string, error) {
	found, err := Find(operation)
	if err != nil {
		return "", err
	}
	if err := p.RequireRole(found.Role, operation); err != nil {
		return "", err
	}
	call, err := found.Prepare(&Request{Principal: p, View: f.state.View(), Store: f, Now: func() time.Time { return epoch }}, []byte(body))
	if err != nil {
		return "null", err
	}
	out, err := call(context.Background())
	text, _ := json.Marshal(out)
	return string(text), err
}

func (f *fixture) must(t *testing.T, operation, body string) string {
	t.Helper()
	out, err := f.as(admin, operation, body)
	if err != nil {
		t.Fatalf("%s %s: %v", operation, body, err)
	}
	return out
}

// of is the input about a service, with more members.
func of(id, more string) string {
	return `{"ServiceNamespace":"ecs","ResourceId":"service/` + id + `","ScalableDimension":"ecs:service:DesiredCount"` + more + `}`
}

const (
	bounds  = `,"MinCapacity":1,"MaxCapacity":4`
	queue   = `"CustomizedMetricSpecification":{"Namespace":"Pinion","MetricName":"QueueDepth","Statistic":"Average"}`
	policy  = `,"PolicyName":"load","PolicyType":"TargetTrackingScaling","TargetTrackingScalingPolicyConfiguration":{"TargetValue":2.5,"ScaleInCooldown":60,` + queue + `}`
	night   = `,"ScheduledActionName":"night","Schedule":"cron(0 22 * * ? *)","Timezone":"Europe/Berlin","StartTime":1767323045,"ScalableTargetAction":{"MinCapacity":0,"MaxCapacity":1}`
	webARN  = "arn:aws:application-autoscaling:us-east-1:123456789012:scalable-target/0ec5wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
	ofWebIn = `"ServiceNamespace":"ecs","ResourceId":"service/default/web","ScalableDimension":"ecs:service:DesiredCount"`
)

func TestAScalableTargetIsDescribedWholly(t *testing.T) {
	f := newFixture(t)
	if got := f.must(t, "RegisterScalableTarget", of("default/web", `,"MinCapacity":2,"MaxCapacity":4,"Tags":{"a":"b"}`)); got != `{"ScalableTargetARN":"`+webARN+`"}` {
		t.Errorf("%s", got)
	}
	f.must(t, "RegisterScalableTarget", of("default/web", `,"SuspendedState":{"DynamicScalingInSuspended":true}`))
	f.must(t, "PutScalingPolicy", of("default/web", policy))
	f.must(t, "PutScheduledAction", of("default/web", night))
	f.must(t, "PutScheduledAction", of("default/web", `,"ScheduledActionName":"night","ScalableTargetAction":{"MaxCapacity":2}`))
	for operation, want := range map[string][]string{
		"DescribeScalableTargets": {`{"ScalableTargets":[{` + ofWebIn + `,"MinCapacity":2,"MaxCapacity":4,"RoleARN":"` + serviceRole + `","CreationTime":1767323045.000,` +
			`"SuspendedState":{"DynamicScalingInSuspended":true,"DynamicScalingOutSuspended":false,"ScheduledScalingSuspended":false},"ScalableTargetARN":"` + webARN + `"}]}`},
		"DescribeScalingPolicies": {`"PolicyName":"load","PolicyType":"TargetTrackingScaling","TargetTrackingScalingPolicyConfiguration":{"TargetValue":2.5,` +
			`"CustomizedMetricSpecification":{"MetricName":"QueueDepth","Namespace":"Pinion","Statistic":"Average"},"ScaleInCooldown":60,"DisableScaleIn":false},"Alarms":[],"CreationTime":1767323045.000`,
			`"PolicyARN":"arn:aws:autoscaling:us-east-1:123456789012:scalingPolicy:`, `:resource/ecs/service/default/web:policyName/load"`},
		"DescribeScheduledActions":  {`"Schedule":"cron(0 22 * * ? *)","Timezone":"Europe/Berlin","ScalableTargetAction":{"MaxCapacity":2}`, `:resource/ecs/service/default/web:scheduledActionName/night"`},
		"DescribeScalingActivities": {`"Description":"Setting desired count to 2.","Cause":"minimum capacity was set to 2: 1 -\u003e 2"`, `"StatusCode":"Successful"`},
	} {
		got := f.must(t, operation, `{"ServiceNamespace":"ecs"}`)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s has not %s", operation, got, part)
			}
		}
	}
	f.must(t, "DeleteScalingPolicy", of("default/web", `,"PolicyName":"load"`))
	f.must(t, "DeleteScheduledAction", of("default/web", `,"ScheduledActionName":"night"`))
	f.must(t, "DeregisterScalableTarget", of("default/web", ``))
	if got := f.must(t, "DescribeScalableTargets", `{"ServiceNamespace":"ecs","ResourceIds":["service/default/web"]}`); got != `{"ScalableTargets":[]}` {
		t.Errorf("%s", got)
	}
}

func TestTagsOfAScalableTarget(t *testing.T) {
	f := newFixture(t)
	f.must(t, "RegisterScalableTarget", of("default/web", bounds+`,"Tags":{"a":"b"}`))
	f.must(t, "TagResource", `{"ResourceARN":"`+webARN+`","Tags":{"c":"d"}}`)
	f.must(t, "UntagResource", `{"ResourceARN":"`+webARN+`","TagKeys":["a"]}`)
	if got := f.must(t, "ListTagsForResource", `{"ResourceARN":"`+webARN+`"}`); got != `{"Tags":{"c":"d"}}` {
		t.Errorf("%s", got)
	}
	for _, arn := range []string{"", "web", strings.Replace(webARN, "0ec5", "0ec6", 1), strings.Replace(webARN, "www", "xxx", 1), strings.Replace(webARN, "123456789012", "1", 1)} {
		if _, err := f.as(admin, "ListTagsForResource", `{"ResourceARN":"`+arn+`"}`); errorType(err) != resourceNotFound {
			t.Errorf("%q: %v", arn, err)
		}
	}
}

func errorType(err error) string {
	if refusal, ok := errors.AsType[*wire.Error](err); ok {
		return refusal.Type
	}
	return fmt.Sprint(err)
}

func TestWhatIsRefused(t *testing.T) {
	f := newFixture(t)
	f.must(t, "RegisterScalableTarget", of("lab/lab", bounds))
	tracked := func(configuration string) string {
		return of("lab/lab", `,"PolicyName":"p","PolicyType":"TargetTrackingScaling","TargetTrackingScalingPolicyConfiguration":{`+configuration+`}`)
	}
	action := func(members string) string { return of("lab/lab", `,"ScheduledActionName":"n",`+members) }
	for _, c := range []struct{ operation, body, kind, says string }{
		{"RegisterScalableTarget", of("default/none", bounds), invalid, "ECS service doesn't exist: service/default/none"},
		{"RegisterScalableTarget", of("default/web", ``), invalid, "must have a least and a largest capacity"},
		{"RegisterScalableTarget", of("default/web", `,"MinCapacity":3,"MaxCapacity":2`), invalid, "Maximum capacity cannot be less than minimum capacity"},
		{"RegisterScalableTarget", of("default/web", `,"MinCapacity":-1,"MaxCapacity":2`), invalid, "a capacity must be"},
		{"RegisterScalableTarget", `{"ServiceNamespace":"ec2"}`, invalid, "Unsupported service namespace"},
		{"RegisterScalableTarget", of("default", bounds), invalid, "ResourceId must be service/CLUSTER/SERVICE"},
		{"PutScalingPolicy", of("default/web", policy), objectNotFound, "No scalable target registered for service namespace: ecs, resource ID: service/default/web, scalable dimension: ecs:service:DesiredCount"},
		{"PutScalingPolicy", of("lab/lab", `,"PolicyName":"p","PolicyType":"StepScaling"`), invalid, "StepScalingPolicyConfiguration must be given"},
		{"PutScalingPolicy", of("lab/lab", `,"PolicyName":"p","PolicyType":"PredictiveScaling"`), invalid, "PolicyType must be"},
		{"PutScalingPolicy", of("lab/lab", `,"PolicyName":"p"`), invalid, "PolicyType must be"},
		{"PutScalingPolicy", of("lab/lab", `,"PolicyName":"a|b","PolicyType":"TargetTrackingScaling","TargetTrackingScalingPolicyConfiguration":{"TargetValue":1}`), invalid, "PolicyName must be"},
		{"PutScalingPolicy", tracked(queue), invalid, "TargetValue must be"},
		{"PutScalingPolicy", tracked(`"TargetValue":0,` + queue), invalid, "TargetValue must be"},
		{"PutScalingPolicy", tracked(`"TargetValue":"2"`), wire.Serialization, "must be a number"},
		{"PutScalingPolicy", tracked(`"TargetValue":2`), invalid, "One of PredefinedMetricSpecification"},
		{"PutScalingPolicy", tracked(`"TargetValue":2,"ScaleInCooldown":-1,` + queue), invalid, "a cooldown must be"},
		{"PutScalingPolicy", tracked(`"TargetValue":2,"CustomizedMetricSpecification":{"Namespace":"AWS/ECS","MetricName":"x"}`), invalid, "metrics are in the namespace Pinion"},
		{"PutScalingPolicy", tracked(`"TargetValue":2,"CustomizedMetricSpecification":{"Namespace":"Pinion","MetricName":"x"}`), invalid, "there are"},
		{"PutScalingPolicy", tracked(`"TargetValue":2,"CustomizedMetricSpecification":{"Metrics":[{"Id":"a"}]}`), invalid, "Metrics is not supported"},
		{"PutScalingPolicy", tracked(`"TargetValue":2,"PredefinedMetricSpecification":{"PredefinedMetricType":"RDSReaderAverageCPUUtilization"}`), invalid, "not supported"},
		{"PutScheduledAction", action(`"Schedule":"daily","ScalableTargetAction":{"MinCapacity":1}`), invalid, "Schedule"},
		{"PutScheduledAction", action(`"Schedule":"rate(1 day)"`), invalid, "ScalableTargetAction must have"},
		{"PutScheduledAction", action(`"Schedule":"rate(1 day)","Timezone":"Mars/Base","ScalableTargetAction":{"MinCapacity":1}`), invalid, "Timezone must be"},
		{"PutScheduledAction", action(`"Schedule":"rate(1 day)","StartTime":9,"EndTime":8,"ScalableTargetAction":{"MinCapacity":1}`), invalid, "EndTime must be"},
		{"DeleteScalingPolicy", of("lab/lab", `,"PolicyName":"p"`), objectNotFound, "No scaling policy found for"},
		{"DeleteScheduledAction", of("lab/lab", `,"ScheduledActionName":"p"`), objectNotFound, "No scheduled action found for"},
		{"DeregisterScalableTarget", of("default/web", ``), objectNotFound, "No scalable target registered"},
		{"DescribeScalableTargets", `{"ServiceNamespace":"ecs","MaxResults":0}`, invalid, "MaxResults"},
		{"DescribeScalableTargets", `{"ServiceNamespace":"ecs","NextToken":"%"}`, invalid, "NextToken"},
		{"GetPredictiveScalingForecast", `{}`, invalid, "not supported"},
		{"PutAlarm", `{}`, wire.UnknownOperation, "RegisterScalableTarget"},
	} {
		if _, err := f.as(admin, c.operation, c.body); errorType(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: %v", c.operation, c.body, err)
		}
	}
}

// Whoever may change the desired count of a service may scale it, and nobody else may, or learns that it is scaled.
func TestWhoMayScaleAService(t *testing.T) {
	f := newFixture(t)
	for _, id := range []string{"default/web", "lab/lab", "default/vision"} {
		f.must(t, "RegisterScalableTarget", of(id, bounds))
	}
	one := 1
	read := auth.Principal{ARN: "reader", Role: accesskey.RoleRead}
	ofLab := auth.Principal{ARN: "lab", Role: accesskey.RoleSubmit, Clusters: "lab"}
	ofSpeech := auth.Principal{ARN: "speech", Role: accesskey.RoleSubmit, Grant: accesskey.Grant{Teams: []string{"speech"}}}
	limited := auth.Principal{ARN: "limited", Role: accesskey.RoleSubmit, Owner: "AKIA2", Grant: accesskey.Grant{MaxGPUs: &one}}
	owner := auth.Principal{ARN: "owner", Role: accesskey.RoleSubmit, Owner: "AKIA1", Grant: accesskey.Grant{MaxTasks: 1}}
	for name, c := range map[string]struct {
		who       auth.Principal
		id, error string
	}{
		"a key that reads":                {read, "default/web", wire.AccessDenied},
		"a key for another cluster":       {ofLab, "default/web", wire.AccessDenied},
		"a key for the cluster":           {ofLab, "lab/lab", ""},
		"a key for another team":          {ofSpeech, "default/vision", objectNotFound},
		"a key with limits, of another's": {limited, "default/web", wire.AccessDenied},
		"a key with limits, of nobody's":  {limited, "lab/lab", wire.AccessDenied},
		"a key with limits, of its own":   {owner, "default/web", ""},
	} {
		for operation, more := range map[string]string{"RegisterScalableTarget": bounds, "PutScalingPolicy": policy, "PutScheduledAction": night} {
			want := c.error
			if operation == "RegisterScalableTarget" && want == objectNotFound {
				want = invalid // it does not exist
			}
			before := f.index
			if _, err := f.as(c.who, operation, of(c.id, more)); err == nil && want != "" || err != nil && errorType(err) != want || want != "" && f.index != before {
				t.Errorf("%s does %s: %v", name, operation, err)
			}
		}
	}
	for _, c := range []struct {
		who  auth.Principal
		sees int
	}{{read, 3}, {ofLab, 1}, {ofSpeech, 0}} {
		if got, _ := f.as(c.who, "DescribeScalableTargets", `{"ServiceNamespace":"ecs"}`); strings.Count(got, "ResourceId") != c.sees {
			t.Errorf("%s sees %s", c.who.ARN, got)
		}
	}
	visionARN := strings.Replace(webARN, strings.Repeat("w", 32), strings.Repeat("v", 32), 1)
	for _, operation := range []string{"ListTagsForResource", "TagResource", "UntagResource"} {
		if _, err := f.as(ofSpeech, operation, `{"ResourceARN":"`+visionARN+`","TagKeys":["a"],"Tags":{"a":"b"}}`); errorType(err) != resourceNotFound {
			t.Errorf("%s: %v", operation, err)
		}
	}
	if _, err := f.as(limited, "TagResource", `{"ResourceARN":"`+visionARN+`","Tags":{"a":"b"}}`); errorType(err) != wire.AccessDenied {
		t.Errorf("a key with limits tags: %v", err)
	}
}

func TestListsComeInPages(t *testing.T) {
	f := newFixture(t)
	f.must(t, "RegisterScalableTarget", of("default/web", bounds))
	for i := range 7 {
		f.must(t, "PutScalingPolicy", of("default/web", strings.Replace(policy, "load", fmt.Sprint("p", i), 1)))
		from, to := 1+i%2, 2-i%2
		if _, err := f.Propose(t.Context(), raftfsm.Wrap(scaling.ChangeTarget{Cluster: "default", Service: "web", ID: fmt.Sprint(i), At: epoch.Add(time.Duration(i/2) * time.Second), Change: scaling.Change{Scale: &scaling.Decision{From: from, To: to, Cause: "c"}}})); err != nil {
			t.Fatal(err)
		}
	}
	for operation, member := range map[string]string{"DescribeScalingPolicies": "PolicyName", "DescribeScalingActivities": "ActivityId"} {
		seen, token := map[string]bool{}, ""
		for pages := 0; pages == 0 || token != ""; pages++ {
			var out map[string]any
			text := f.must(t, operation, `{"ServiceNamespace":"ecs","MaxResults":2,"NextToken":"`+token+`"}`)
			if err := json.Unmarshal([]byte(text), &out); err != nil || pages > 9 {
				t.Fatal(err, text)
			}
			token, _ = out["NextToken"].(string)
			for _, list := range out {
				items, _ := list.([]any)
				for _, item := range items {
					name := item.(map[string]any)[member].(string)
					if seen[name] {
						t.Errorf("%s: %s is there twice", operation, name)
					}
					seen[name] = true
				}
			}
		}
		if len(seen) != 7 {
			t.Errorf("%s: %v", operation, seen)
		}
	}
}
