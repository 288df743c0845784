package api

import (
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/api/secrets/secretstest"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// attack names what is in the cluster theirs to a line that asks the principal about each resource. Of a route it is the path, and the body after a
// space.
type attack struct{ table, name, body string }

const (
	alarmOfTheirs = `"ResourceARN":"arn:aws:cloudwatch:us-east-1:` + spec.AccountID + `:alarm:busy"`
	watched       = `"Namespace":"AWS/ECS","MetricName":"CPUUtilization","Dimensions":[{"Name":"ClusterName","Value":"theirs"},{"Name":"ServiceName","Value":"web"}]`
	groupOfLogs   = `"resourceArn":"arn:aws:logs:us-east-1:` + spec.AccountID + `:log-group:logs"`
)

var attacks = []attack{
	{"ecs", "ListClusters", `{}`},
	{"ecs", "ListTaskDefinitions", `{}`},
	{"ecs", "ListTaskDefinitionFamilies", `{}`},
	{"ecs", "ListDaemonTaskDefinitions", `{}`},

	{"autoscaling", "DescribeScalableTargets", `{"ServiceNamespace":"ecs"}`},
	{"autoscaling", "DescribeScalingPolicies", `{"ServiceNamespace":"ecs","ResourceId":"service/theirs/web"}`},
	{"autoscaling", "DescribeScheduledActions", `{"ServiceNamespace":"ecs","ResourceId":"service/theirs/web"}`},
	{"autoscaling", "DescribeScalingActivities", `{"ServiceNamespace":"ecs","ResourceId":"service/theirs/web"}`},
	{"autoscaling", "ListTagsForResource", `{"ResourceARN":"TARGET"}`},
	{"autoscaling", "TagResource", `{"ResourceARN":"TARGET","Tags":{"a":"b"}}`},
	{"autoscaling", "UntagResource", `{"ResourceARN":"TARGET","TagKeys":["of"]}`},

	{"cloudwatch", "DescribeAlarms", `{}`},
	{"cloudwatch", "DescribeAlarms", `{"AlarmNames":["busy"]}`},
	{"cloudwatch", "DescribeAlarmsForMetric", `{` + watched + `}`},
	{"cloudwatch", "ListTagsForResource", `{` + alarmOfTheirs + `}`},
	{"cloudwatch", "PutMetricAlarm", `{"AlarmName":"busy","Statistic":"Average","Period":60,"EvaluationPeriods":1,"Threshold":1,"ComparisonOperator":"LessThanThreshold",` + watched + `}`},
	{"cloudwatch", "PutMetricAlarm", `{"AlarmName":"new","Statistic":"Average","Period":60,"EvaluationPeriods":1,"Threshold":1,"ComparisonOperator":"LessThanThreshold",` + watched + `}`},
	{"cloudwatch", "DeleteAlarms", `{"AlarmNames":["busy"]}`},
	{"cloudwatch", "TagResource", `{` + alarmOfTheirs + `,"Tags":[{"Key":"a","Value":"b"}]}`},
	{"cloudwatch", "UntagResource", `{` + alarmOfTheirs + `,"TagKeys":["of"]}`},

	{"logs", "DescribeLogGroups", `{}`},
	{"logs", "DescribeLogStreams", `{"logGroupName":"logs"}`},
	{"logs", "GetLogEvents", `{"logGroupName":"logs","logStreamName":"app/c/TASK"}`},
	{"logs", "FilterLogEvents", `{"logGroupName":"logs"}`},
	{"logs", "ListTagsForResource", `{` + groupOfLogs + `}`},
	{"logs", "ListTagsLogGroup", `{"logGroupName":"logs"}`},
	{"logs", "CreateLogStream", `{"logGroupName":"logs","logStreamName":"x"}`},
	{"logs", "DeleteLogStream", `{"logGroupName":"logs","logStreamName":"x"}`},
	{"logs", "PutLogEvents", `{"logGroupName":"logs","logStreamName":"x"}`},

	{"routes", "GET /v1/definitions", "/v1/definitions"},
	{"routes", "GET /v1/tasks/{id}/logs", "/v1/tasks/TASK/logs"},
	{"routes", "GET /v1/tasks/{id}/pulls", "/v1/tasks/TASK/pulls"},
	{"routes", "GET /v1/tasks/{id}/explain", "/v1/tasks/TASK/explain"},
	{"routes", "POST /v1/tasks/{id}/exec", `/v1/tasks/TASK/exec {"command":["true"]}`},
	{"routes", "POST /v1/services/plan", `/v1/services/plan {"update":{"cluster":"theirs","service":"web","desiredCount":2}}`},
}

// heldElsewhere are the functions of tests that hold lines whose resources take more to be made.
var heldElsewhere = map[string]string{
	"ssm":                                  "ssm/attack_test.go attack",
	"secretsmanager":                       "secretsmanager/attack_test.go attack",
	"ecs ListServicesByNamespace":          "ecs/service_connect_test.go TestNamespacesBelongToClusters",
	"elb DescribeTargetHealth":             "elb_test.go TestTargetsAreSeenByThoseWhoSeeTheTask",
	"routes GET /v1/images":                "images_test.go TestAKeyForAClusterSeesImagesByTheNamesOfItsHosts",
	"routes GET /v1/volumes":               "volume_routes_test.go TestVolumesAreRemovedByAdministratorsOfThePoolAlone",
	"routes GET /v1/roles":                 "task_role_test.go TestARoleIsGivenByThoseWhoMayDoAllThatItMay",
	"routes GET /v1/gpus/{id}/usage":       "gpu_usage_test.go TestUsageIsForThoseWhoSeeTheTask",
	"routes GET /v1/hosts/{id}/gpus/usage": "gpu_usage_test.go TestUsageIsForThoseWhoSeeTheTask",
	"routes GET /metrics":                  "metrics_test.go TestMetricsAreForThoseWhoSeeTheTask",
	"routes GET /metrics/pool":             "metrics_test.go TestMetricsAreForThoseWhoSeeTheTask",
	"routes GET /v1/hosts/{id}/metrics":    "metrics_test.go TestMetricsAreForThoseWhoSeeTheTask",
	"routes GET /v1/metrics/targets":       "metrics_test.go TestPrometheusFindsAllHosts",
}

// isHeld reports whether the test of a line is there, and speaks of it.
func isHeld(table, name string) bool {
	where, known := heldElsewhere[table+" "+name]
	if !known {
		where = heldElsewhere[table]
	}
	file, test, _ := strings.Cut(where, " ")
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		return false
	}
	_, body, there := strings.Cut(string(text), "\nfunc "+test+"(")
	body, _, _ = strings.Cut(body, "\n}\n")
	last := name[strings.LastIndexByte(name, '/')+1:]
	return there && strings.Contains(body, last)
}

// theirs is a pool with two clusters, of which one has something of everything, made by its own key.
type theirs struct {
	*fixture
	keys         map[string]string
	target, task string
}

func newTheirs(t *testing.T) *theirs {
	b := &theirs{fixture: newFixture(t), keys: map[string]string{}}
	b.config.Admin.Secrets, b.config.Services = secretstest.New(t), fakePlanner{}
	written(b.agent, "said by theirs")
	b.agent.pulls = func(string) []spec.Pull { return []spec.Pull{{Image: "theirs:1"}} }
	host := newHost(strings.Repeat("b", 32), "theirs-1", 0)
	host.Cluster = "theirs"
	for _, cluster := range []string{"lab", "theirs"} {
		b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: cluster, Status: spec.ClusterActive}})
		b.keys[cluster] = b.withKey(t, accesskey.Key{ID: strings.ToUpper("AKIA" + cluster), Role: accesskey.RoleAdmin, Cluster: cluster})
	}
	b.mustApply(t, raftfsm.PutHost{Host: host})
	b.keys["all"] = b.withKey(t, accesskey.Key{ID: "AKIAALL", Role: accesskey.RoleAdmin})
	b.makeAs(t, "all", "logs", "CreateLogGroup", `{"logGroupName":"logs","tags":{"of":"theirs"}}`)
	const container = `{"name":"c","image":"i","memory":6,"environment":[{"name":"of","value":"theirs"}],"logConfiguration":{"logDriver":"awslogs","options":{"awslogs-group":"logs","awslogs-stream-prefix":"app"}}}`
	b.make(t, "ecs", "RegisterTaskDefinition", `{"family":"of-theirs","containerDefinitions":[`+container+`]}`)
	b.make(t, "ecs", "RegisterDaemonTaskDefinition", `{"family":"of-theirs","cpu":"256","memory":"128","containerDefinitions":[{"name":"c","image":"i"}]}`)
	b.make(t, "ecs", "CreateService", `{"cluster":"theirs","serviceName":"web","taskDefinition":"of-theirs","desiredCount":1}`)
	var ran runOutput
	b.make(t, "ecs", "RunTask", `{"cluster":"theirs","taskDefinition":"of-theirs","enableExecuteCommand":true}`).decode(t, &ran)
	b.task = path.Base(ran.Tasks[0].ARN)
	var registered struct {
		ARN string `json:"ScalableTargetARN"`
	}
	const web = `"ServiceNamespace":"ecs","ResourceId":"service/theirs/web","ScalableDimension":"ecs:service:DesiredCount"`
	b.make(t, "autoscaling", "RegisterScalableTarget", `{`+web+`,"MinCapacity":2,"MaxCapacity":6,"Tags":{"of":"theirs"}}`).decode(t, &registered)
	b.target = registered.ARN
	b.make(t, "autoscaling", "PutScalingPolicy", `{`+web+`,"PolicyName":"load","PolicyType":"TargetTrackingScaling","TargetTrackingScalingPolicyConfiguration":{"TargetValue":2,"CustomizedMetricSpecification":{"Namespace":"Pinion","MetricName":"QueueDepth","Statistic":"Average"}}}`)
	b.make(t, "autoscaling", "PutScheduledAction", `{`+web+`,"ScheduledActionName":"night","Schedule":"cron(0 22 * * ? *)","ScalableTargetAction":{"MinCapacity":0}}`)
	b.make(t, "cloudwatch", "PutMetricAlarm", `{"AlarmName":"busy","AlarmDescription":"of theirs","Statistic":"Average","Period":60,"EvaluationPeriods":1,"Threshold":1,"ComparisonOperator":"LessThanThreshold","Tags":[{"Key":"of","Value":"theirs"}],`+watched+`}`)
	return b
}

// make has a line carried out for the key of the cluster theirs.
func (b *theirs) make(t *testing.T, table, name, body string) reply {
	t.Helper()
	return b.makeAs(t, "theirs", table, name, body)
}

func (b *theirs) makeAs(t *testing.T, cluster, table, name, body string) reply {
	t.Helper()
	got := b.as(b.keys[cluster], tables()[table].request(name, body))
	if got.Code != 200 {
		t.Fatalf("%s: %d %s", name, got.Code, got.Body)
	}
	return got
}

// tries carries out an attack for the key of a cluster, and reports whether it reached what is in theirs: was told of it, or changed it. What is refused
// as something else than missing or forbidden was looked at.
func (b *theirs) tries(a attack, cluster string) (reached bool, got reply) {
	body := strings.NewReplacer("TASK", b.task, "TARGET", b.target).Replace(a.body)
	before, bearer := b.state.View().Index(), b.keys[cluster]
	if a.table == "routes" {
		method, _, _ := strings.Cut(a.name, " ")
		path, input, _ := strings.Cut(body, " ")
		got = b.as(bearer, httptest.NewRequest(method, path, strings.NewReader(input)))
	} else {
		got = b.as(bearer, tables()[a.table].request(a.name, body))
	}
	if b.state.View().Index() != before {
		return true, got
	}
	if refusal := got.Header().Get("X-Amzn-ErrorType"); got.Code != 200 {
		return !strings.Contains(refusal, "NotFound") && refusal != "AccessDeniedException", got
	}
	for _, mark := range []string{"theirs", "busy", "load", "night", "logs", "app/c/", "minimum", "leastHealthy", `"of"`} {
		if strings.Contains(got.Body.String(), mark) && !strings.Contains(body, mark) {
			return true, got
		}
	}
	return false, got
}

// What a line asks the principal about is reached by the key of its cluster, and by no other.
func TestALineThatAsksAboutEachResourceTellsOthersOfNone(t *testing.T) {
	eachLine(func(of, name string, _ table, e *endpoint) {
		if e.scope.IsPerResource() && !isHeld(of, name) && !slices.ContainsFunc(attacks, func(a attack) bool { return a.table == of && a.name == name }) {
			t.Errorf("nobody attacks %s of %s: add a line to attacks", name, of)
		}
	})
	for _, a := range attacks {
		b := newTheirs(t)
		if reached, got := b.tries(a, "lab"); reached {
			t.Errorf("%s of %s %s: a key for lab: %d %s", a.name, a.table, a.body, got.Code, got.Body)
		}
		key := "theirs"
		if a.table == "logs" && strings.HasPrefix(a.name, "ListTags") {
			key = "all" // the tags of a group are for keys of the whole pool
		}
		if reached, got := b.tries(a, key); !reached {
			t.Errorf("%s of %s %s: the key for %s: %d %s", a.name, a.table, a.body, key, got.Code, got.Body)
		}
	}
}
