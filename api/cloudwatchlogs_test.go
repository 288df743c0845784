package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// written has the agent of a host answer with numbered lines of what runs in a container, a second apart.
func written(a *fakeTaskHost, texts ...string) {
	a.logs = func(_ context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error {
		for i, text := range texts {
			line := spec.LogLine{Time: epoch.Add(time.Duration(i) * time.Second), Container: q.Container, Stream: "stdout", Text: text}
			if i < len(texts)-q.Tail && q.Tail > 0 || line.Time.Before(q.Since) {
				continue
			}
			if err := emit(line); err != nil {
				return err
			}
		}
		return nil
	}
}

// newTwoHostPool has the task of document 1 on either host of a pool; each has written what it sees of its GPU.
func newTwoHostPool(t *testing.T) *twoHosts {
	p := newTwoHosts(t)
	other := newHost(followerID, "gpu-2", 4)
	other.Address = p.otherPeer.Listener.Addr().String()
	p.leader.mustApply(t, raftfsm.PutHost{Host: other})
	definition, err := os.ReadFile("ecs/testdata/gpu-1-taskdef.json")
	if err != nil {
		t.Fatal(err)
	}
	send(t, "POST", p.socket.URL+"/v1/RegisterTaskDefinition", string(definition))
	started := send(t, "POST", p.socket.URL+"/v1/StartTask", `{"taskDefinition":"tensorflow-1-gpu","containerInstances":["`+hostID+`","`+followerID+`"]}`)
	if started.Code != 200 || !strings.Contains(started.Body.String(), `"failures":[]`) {
		t.Fatalf("%d %s", started.Code, started.Body)
	}
	written(p.leader.agent, "first: /gpu:0", "first: done")
	written(p.other.agent, "second: /gpu:0", "", "second: <done>")
	return p
}

const (
	seedGroup    = "test-task-tensorflow-gpu" // of document 1
	firstStream  = "tensorflow-gpu/tensorflow-gpu/" + firstTask
	secondStream = "tensorflow-gpu/tensorflow-gpu/00000000000000000000000000000002"
)

// The logs of document 1 as it looks at them, by the AWS CLI, whichever host runs the task and whichever is asked.
func TestTheAWSCLIReadsLogs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("aws"); err != nil {
		t.Skip("the AWS CLI is not on this machine: this test says nothing")
	}
	p := newTwoHostPool(t)
	out, err := shell(t, p.follower, `set -e
aws logs describe-log-groups --log-group-name-prefix test-task --query 'logGroups[].[logGroupName,arn]' --output text
aws logs describe-log-streams --log-group-name `+seedGroup+` --query 'logStreams[].[logStreamName,lastEventTimestamp]' --output text
aws logs get-log-events --log-group-name `+seedGroup+` --log-stream-name `+firstStream+` --query 'events[].[timestamp,message]' --output text
aws logs get-log-events --log-group-name `+seedGroup+` --log-stream-name `+secondStream+` --limit 1 --start-from-head --query 'events[].message' --output text
aws logs filter-log-events --log-group-name `+seedGroup+` --filter-pattern '"/gpu:0" -third' --query 'events[].[logStreamName,message]' --output text
aws logs filter-log-events --log-group-name `+seedGroup+` --start-time 1767323047000 --query 'events[].message' --output text`)
	ms := epoch.UnixMilli()
	want := fmt.Sprintf("%[1]s\tarn:aws:logs:us-east-1:123456789012:log-group:%[1]s:*\n"+
		"%[2]s\t%[4]d\n%[3]s\t%[5]d\n"+
		"%[6]d\tfirst: /gpu:0\n%[4]d\tfirst: done\n"+
		"second: /gpu:0\n"+
		"%[2]s\tfirst: /gpu:0\n%[3]s\tsecond: /gpu:0\n"+
		"second: <done>\n", seedGroup, firstStream, secondStream, ms+1000, ms+2000, ms)
	if err != nil || out != want {
		t.Errorf("%v\ngot\n%s\nwant\n%s", err, out, want)
	}
	if out, err := shell(t, p.follower, `aws logs get-log-events --log-group-name `+seedGroup+` --log-stream-name no`); err == nil || !strings.Contains(err.Error(), "(ResourceNotFoundException)") {
		t.Errorf("%v %s", err, out)
	}
}

// version2 is the AWS CLI of the second generation, which alone has `aws logs tail`; empty when there is none. Before 2.13 it
// wants --endpoint-url.
func version2() string {
	for _, name := range []string{"aws", "/usr/bin/aws", "/usr/local/bin/aws"} {
		if out, err := exec.Command(name, "--version").Output(); err == nil && strings.HasPrefix(string(out), "aws-cli/2") {
			return name
		}
	}
	return ""
}

func TestTheAWSCLITailsAGroup(t *testing.T) {
	t.Parallel()
	aws := version2()
	if aws == "" {
		t.Skip("version 2 of the AWS CLI is not on this machine: this test says nothing")
	}
	p := newTwoHostPool(t)
	out, err := shell(t, p.follower, aws+` --endpoint-url $AWS_ENDPOINT_URL_ECS logs tail `+seedGroup+` --since 2026-01-01T00:00:00Z`)
	const first, second = firstStream + " first: ", secondStream + " second: "
	if at := strings.Index(out, first+"/gpu:0\n"); err != nil || at < 0 || strings.Index(out, second+"/gpu:0\n") < at || !strings.HasSuffix(out, second+"<done>\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// With --follow, version 2 asks again every 5 s from the newest line on.
func TestTheAWSCLIFollowsAGroup(t *testing.T) {
	t.Parallel()
	aws := version2()
	if aws == "" || testing.Short() {
		t.Skip("version 2 of the AWS CLI is not on this machine, or this is the short run: this test says nothing")
	}
	p := newTwoHostPool(t)
	asked := 0
	read := p.leader.agent.logs
	p.leader.agent.logs = func(ctx context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error {
		if err := read(ctx, q, emit); err != nil {
			return err
		}
		if asked++; asked == 1 {
			return nil
		}
		return emit(spec.LogLine{Time: epoch.Add(time.Minute), Container: q.Container, Text: "came later"})
	}
	out, err := shell(t, p.follower, `export PYTHONUNBUFFERED=1
exec 3< <(exec timeout 120 `+aws+` --endpoint-url $AWS_ENDPOINT_URL_ECS logs tail `+seedGroup+` --follow --since 2026-01-01T00:00:00Z --format short)
tail=$!
while read -r line <&3; do
	echo "$line"
	[[ $line == *"came later" ]] && break
done
kill $tail`)
	if strings.Count(out, "/gpu:0") != 2 || strings.Count(out, "came later") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
}

// boto3's paginators, and every answer held against the service's own model as it came.
func TestBoto3ReadsLogs(t *testing.T) {
	t.Parallel()
	if err := exec.Command("python3", "-c", "import boto3").Run(); err != nil {
		t.Skip("boto3 is not on this machine: this test says nothing")
	}
	p := newTwoHostPool(t)
	out, err := shell(t, p.follower, `python3 - <<'PY'
import boto3, json
from botocore.validate import ParamValidator
logs = boto3.client('logs')
def check(http_response, model, **_):
    if http_response.status_code != 200 or not model.output_shape: return
    report = ParamValidator().validate(json.loads(http_response.content), model.output_shape)
    if report.has_errors(): print(model.name, report.generate_report())
logs.meta.events.register('after-call.cloudwatch-logs', check)
group = '`+seedGroup+`'
pages = lambda name, **kw: logs.get_paginator(name).paginate(PaginationConfig={'PageSize': 1}, **kw)
print([g['logGroupName'] for p in pages('describe_log_groups') for g in p['logGroups']])
print([s['logStreamName'][-1] for p in pages('describe_log_streams', logGroupName=group) for s in p['logStreams']])
print([e['message'] for p in pages('filter_log_events', logGroupName=group) for e in p['events']])
page = logs.get_log_events(logGroupName=group, logStreamName='`+secondStream+`', limit=1)
back = logs.get_log_events(logGroupName=group, logStreamName='`+secondStream+`', limit=1, nextToken=page['nextBackwardToken'])
print([e['message'] for e in page['events'] + back['events']])
print(logs.list_tags_for_resource(resourceArn='arn:aws:logs:us-east-1:123456789012:log-group:' + group)['tags'])
logs.create_log_group(logGroupName='new', tags={'a': '1'})
logs.put_retention_policy(logGroupName='new', retentionInDays=3)
arn = 'arn:aws:logs:us-east-1:123456789012:log-group:new'
logs.tag_resource(resourceArn=arn, tags={'b': '2'})
logs.untag_resource(resourceArn=arn, tagKeys=['a'])
print([g['retentionInDays'] for g in logs.describe_log_groups(logGroupNamePrefix='new')['logGroups']], logs.list_tags_for_resource(resourceArn=arn)['tags'])
logs.delete_retention_policy(logGroupName='new')
logs.delete_log_group(logGroupName='new')
print(logs.describe_log_groups(logGroupNamePrefix='new')['logGroups'])
logs.create_log_group(logGroupName=group)
try: logs.create_log_group(logGroupName=group, tags={'a': '1'})
except logs.exceptions.ResourceAlreadyExistsException as e: print(type(e).__name__)
PY`)
	want := "['" + seedGroup + "']\n['1', '2']\n['first: /gpu:0', 'second: /gpu:0', 'first: done', 'second: <done>']\n['second: <done>', 'second: /gpu:0']\n{}\n[3] {'b': '2'}\n[]\nResourceAlreadyExistsException\n"
	if err != nil || out != want {
		t.Errorf("%v\ngot\n%s\nwant\n%s", err, out, want)
	}
}

func TestALogRequestIsSignedForTheServiceOfLogs(t *testing.T) {
	b := newSignedFixture(t)
	r := signed(t, "ListTasks", "{}", epoch) // for ecs
	r.Header.Set("X-Amz-Target", "Logs_20140328.DescribeLogGroups")
	b.serve(r).wantError(t, 400, "InvalidSignatureException", "Credential should be scoped to correct service: 'logs'.")
}

// Who may read the tasks of one cluster may read their logs, and knows nothing of others.
func TestAKeyForOneClusterReadsItsLogsAlone(t *testing.T) {
	b := newLogFixture(t, func(_ context.Context, _ spec.LogQuery, emit func(spec.LogLine) error) error {
		return emit(line("x"))
	})
	for cluster, want := range map[string]string{"": `"message":"x"`, "default": `"message":"x"`, "lab": "The specified log group does not exist."} {
		for _, role := range []accesskey.Role{accesskey.RoleRead, accesskey.RoleSubmit, accesskey.RoleAdmin} {
			r := httptest.NewRequest("POST", "/", strings.NewReader(`{"logGroupName":"/pinion/tensorflow-1-gpu"}`))
			r.Header.Set("X-Amz-Target", "Logs_20140328.FilterLogEvents")
			if got := b.serveAs(t, role, cluster, r); !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s of %q: %d %s", role, cluster, got.Code, got.Body)
			}
		}
	}
}

func TestAHostThatIsAwayIsSaidInALog(t *testing.T) {
	b := newLogFixture(t, nil)
	b.config.HostID, b.config.Forward = followerID, &fakeTransport{failBefore: func(int) error { return errors.New("no route") }}
	const stream = "tensorflow-gpu/" + firstTask // without a prefix
	r := httptest.NewRequest("POST", "/", strings.NewReader(`{"logGroupName":"/pinion/tensorflow-1-gpu","logStreamName":"`+stream+`"}`))
	r.Header.Set("X-Amz-Target", "Logs_20140328.GetLogEvents")
	b.serve(r).wantError(t, 503, "ServiceUnavailableException", "The log stream "+stream+" cannot be read now: host gpu-1 cannot be reached at gpu-1:7400: no route. Try again.")
}

// What is read for one answer is held until it is sent, so there is an end to how many are made at once.
func TestThereIsAnEndToHowManyReadLogsAtOnce(t *testing.T) {
	b := newSignedFixture(t)
	b.config.Trusted, b.config.Shared.logReads.Size = true, 0
	r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
	r.Header.Set("X-Amz-Target", "Logs_20140328.DescribeLogGroups")
	b.serve(r).wantError(t, 503, "ThrottlingException", "Nothing was done: this host has too many log requests at once. Try again.")
}

// Who has a task on a host in wrong hands may have reads that do not end, and keeps nobody else from reading.
func TestOneAddressReadsSoManyLogsAtOnce(t *testing.T) {
	b := newFixture(t)
	b.config.Shared = NewShared()
	reads := b.config.Shared.logReads
	for held := true; held; _, held = reads.TryAcquire("192.0.2.1:1") {
	}
	ask := func(address string) int {
		r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
		r.Header.Set("X-Amz-Target", "Logs_20140328.DescribeLogGroups")
		r.RemoteAddr = address
		return b.serve(r).Code
	}
	if one, other := ask("192.0.2.1:2"), ask("192.0.2.2:2"); one != http.StatusServiceUnavailable || other != http.StatusOK {
		t.Errorf("the address that reads gets %d, another %d", one, other)
	}
}

// A retention deletes logs of tasks, which who may only start tasks must not do; a group belongs to no cluster.
func TestWhoMayChangeLogGroups(t *testing.T) {
	b := newFixture(t)
	b.mustApply(t, registerCommand(t))
	b.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	logs := func(role accesskey.Role, cluster, operation, body string) reply {
		r := awsRequest(operation, body)
		r.Header.Set("X-Amz-Target", "Logs_20140328."+operation)
		return b.serveAs(t, role, cluster, r)
	}
	const name = `"logGroupName":"g"`
	for _, c := range []struct {
		operation, body string
		least           accesskey.Role
	}{
		{"CreateLogGroup", `{` + name + `}`, accesskey.RoleSubmit},
		{"TagLogGroup", `{` + name + `,"tags":{"a":"1"}}`, accesskey.RoleSubmit},
		{"PutRetentionPolicy", `{` + name + `,"retentionInDays":1}`, accesskey.RoleAdmin},
		{"DeleteRetentionPolicy", `{` + name + `}`, accesskey.RoleAdmin},
		{"DeleteLogGroup", `{` + name + `}`, accesskey.RoleAdmin},
	} {
		for _, role := range []accesskey.Role{accesskey.RoleRead, accesskey.RoleSubmit, accesskey.RoleAdmin} {
			if got := logs(role, "lab", c.operation, c.body); got.Header().Get("X-Amzn-ErrorType") != wire.AccessDenied {
				t.Errorf("%s of a %s key for one cluster: %d %s", c.operation, role, got.Code, got.Body)
			}
			if !role.May(c.least) {
				if got := logs(role, "", c.operation, c.body); got.Header().Get("X-Amzn-ErrorType") != wire.AccessDenied {
					t.Errorf("%s of a %s key: %d %s", c.operation, role, got.Code, got.Body)
				}
			}
		}
		if got := logs(c.least, "", c.operation, c.body); got.Code != 200 || got.Body.String() != "{}" {
			t.Errorf("%s of a %s key: %d %s", c.operation, c.least, got.Code, got.Body)
		}
	}
}
