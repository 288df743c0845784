package cloudwatchlogs

import (
	"slices"
	"testing"
	"time"

	"pinion/api/auth"
	"pinion/raftfsm/loggroup"
)

type in = map[string]any

func TestGroupsAreWhatTaskDefinitionsName(t *testing.T) {
	w := newFixture(t)
	w.define(t, "train", "research")
	w.define(t, "train", "research-2") // revision 2
	w.define(t, "plain", "")
	var names []string
	for _, g := range w.call(t, "DescribeLogGroups", in{}).LogGroups {
		names = append(names, g.LogGroupName)
		if want := "arn:aws:logs:us-east-2:123456789012:log-group:" + g.LogGroupName; g.ARN != want+":*" || g.LogGroupARN != want || g.CreationTime != epoch.UnixMilli() {
			t.Errorf("%+v", g)
		}
	}
	same(t, "groups", names, []string{"/pinion/plain", "research", "research-2"})
	for what, c := range map[string]struct {
		input in
		want  int
	}{
		"a prefix":              {in{"logGroupNamePrefix": "research"}, 2},
		"a part of the name":    {in{"logGroupNamePattern": "plain"}, 1},
		"another class":         {in{"logGroupClass": "DELIVERY"}, 0},
		"names and ARNs":        {in{"logGroupIdentifiers": []string{"arn:aws:logs:x:123456789012:log-group:research:*", "/pinion/plain"}}, 2},
		"one page":              {in{"limit": 1}, 1},
		"what is not asked for": {in{"accountIdentifiers": []string{}}, 3},
	} {
		if got := w.call(t, "DescribeLogGroups", c.input).LogGroups; len(got) != c.want {
			t.Errorf("%s: %d groups", what, len(got))
		}
	}
}

func TestListsComeInPages(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	want := []string{"p/c/1", "p/c/2", "p/c/3", "p/c/4", "p/c/5"}
	for _, name := range want {
		w.run(t, "f", name[len("p/c/"):], "h")
	}
	for _, descending := range []bool{false, true} {
		for _, order := range []string{byName, byTime} {
			var got []string
			for token := ""; len(got) == 0 || token != ""; {
				page := w.call(t, "DescribeLogStreams", in{"logGroupName": "g", "limit": 2, "nextToken": token, "descending": descending, "orderBy": order})
				for _, s := range page.LogStreams {
					got = append(got, s.LogStreamName)
				}
				token = page.NextToken
			}
			if descending {
				slices.Reverse(got)
			}
			same(t, order, got, want)
		}
	}
}

func TestStreamsTellWhenTheyWereWritten(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	w.define(t, "plain", "")
	w.run(t, "f", "old", "h", at(1, "a"), at(2, "b"), at(3, "c"))
	w.stopTask(t, "old", "h", epoch.Add(time.Hour))
	w.run(t, "f", "new", "h", at(9, "a"))
	w.run(t, "f", "lost", "gone")
	w.run(t, "plain", "x", "h")
	w.down["gone"] = true
	got := w.call(t, "DescribeLogStreams", in{"logGroupIdentifier": "arn:aws:logs:us-east-2:123456789012:log-group:g", "orderBy": "LastEventTime"})
	begin := epoch.UnixMilli()
	if len(got.LogStreams) != 3 || len(got.warnings) != 1 {
		t.Fatalf("%+v", got)
	}
	want := logStream{ARN: "arn:aws:logs:us-east-2:123456789012:log-group:g:log-stream:p/c/old", LogStreamName: "p/c/old",
		CreationTime: begin, FirstEventTimestamp: begin + 1, LastEventTimestamp: begin + 3, LastIngestionTime: begin + 3}
	if got.LogStreams[0] != want { // the one that ended is older than those that run
		t.Errorf("got  %+v\nwant %+v", got.LogStreams[0], want)
	}
	if lost := got.LogStreams[1]; lost.LogStreamName != "p/c/lost" || lost.LastEventTimestamp != 0 {
		t.Errorf("%+v", lost)
	}
	plain := w.call(t, "DescribeLogStreams", in{"logGroupName": "/pinion/plain", "logStreamNamePrefix": "c/"})
	if len(plain.LogStreams) != 1 || plain.LogStreams[0].LogStreamName != "c/x" {
		t.Errorf("a task without awslogs: %+v", plain.LogStreams)
	}
}

// What a tool does before it reads is answered with the model's own errors.
func TestWhatWouldChangeSomethingIsRefusedByTheModelledError(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	const none = "The specified log group does not exist."
	for _, name := range []string{"DeleteLogGroup", "PutRetentionPolicy", "DeleteRetentionPolicy", "CreateLogStream", "DeleteLogStream", "PutLogEvents", "TagLogGroup", "UntagLogGroup"} {
		w.wantError(t, name, in{"logGroupName": "new", "retentionInDays": 1}, notFound, none)
	}
	for _, name := range []string{"CreateLogStream", "DeleteLogStream", "PutLogEvents"} {
		if _, err := w.try(t, name, in{"logGroupName": "g"}); err == nil {
			t.Errorf("%s was not refused", name)
		}
	}
	w.wantError(t, "CreateLogGroup", in{"logGroupName": "a b"}, "InvalidParameterException", `logGroupName must be 1 to 512 letters, digits and - _ / . #, not "a b".`)
	w.wantError(t, "CreateLogGroup", in{"logGroupName": "new", "logGroupClass": "DELIVERY"}, "InvalidParameterException", `logGroupClass must be STANDARD, the only one here, not "DELIVERY".`)
	w.wantError(t, "CreateLogGroup", in{"logGroupName": "new", "tags": in{"aws:x": "y"}}, "InvalidParameterException", `tag "aws:x": keys that begin with aws: are reserved`)
	w.wantError(t, "CreateLogGroup", in{"logGroupName": "new", "kmsKeyId": "k"}, "InvalidParameterException", "kmsKeyId is not supported by Pinion yet: logs are files of the hosts, which Pinion does not encrypt. Remove the field.")
	w.wantError(t, "PutRetentionPolicy", in{"logGroupName": "g", "retentionInDays": 2}, "InvalidParameterException",
		"retentionInDays must be one of 1 3 5 7 14 30 60 90 120 150 180 365 400 545 731 1096 1827 2192 2557 2922 3288 3653, not 2.")
	if tags := w.call(t, "ListTagsForResource", in{"resourceArn": "arn:aws:logs:us-east-2:123456789012:log-group:g"}).Tags; tags == nil || len(tags) > 0 {
		t.Errorf("tags: %v", tags)
	}
	if tags := w.call(t, "ListTagsLogGroup", in{"logGroupName": "g"}).Tags; tags == nil {
		t.Error("no tags are shown as nothing")
	}
	w.wantError(t, "ListTagsForResource", in{"resourceArn": "g"}, "InvalidParameterException", `"g" is not the ARN of a log group of the account 123456789012.`)
	w.wantError(t, "DescribeLogStreams", in{}, "InvalidParameterException", "logGroupName is missing: name the awslogs-group of a task definition, or /pinion/ and its family.")
	w.wantError(t, "DescribeLogStreams", in{"logGroupName": "g", "orderBy": "LastEventTime", "logStreamNamePrefix": "p"}, "InvalidParameterException", "Cannot order by LastEventTime with a logStreamNamePrefix.")
	w.wantError(t, "DescribeLogGroups", in{"logGroupNamePrefix": "a", "logGroupNamePattern": "b"}, "InvalidParameterException", "LogGroup name prefix and LogGroup name pattern are mutually exclusive parameters.")
	w.wantError(t, "DescribeLogGroups", in{"includeLinkedAccounts": true}, "InvalidParameterException", "includeLinkedAccounts is not supported by Pinion yet: there is one account. Remove the field.")
	w.wantError(t, "DescribeLogGroups", in{"limit": 51}, "InvalidParameterException", "limit must be between 1 and 50, not 51.")
	if _, err := Find("StartQuery"); err == nil {
		t.Error("StartQuery was found")
	}
}

// As Terraform's aws_cloudwatch_log_group does it.
func TestAGroupIsCreatedWithItsRetentionAndTags(t *testing.T) {
	w := newFixture(t)
	const arn = "arn:aws:logs:us-east-2:123456789012:log-group:research"
	find := func() (found []logGroup) {
		return w.call(t, "DescribeLogGroups", in{"logGroupNamePrefix": "research"}).LogGroups
	}
	w.call(t, "CreateLogGroup", in{"logGroupName": "research", "tags": in{"b": "2", "a": "1"}})
	w.wantError(t, "CreateLogGroup", in{"logGroupName": "research"}, alreadyExists, "The specified log group already exists")
	w.call(t, "PutRetentionPolicy", in{"logGroupName": "research", "retentionInDays": 3})
	if got := find(); len(got) != 1 || got[0].RetentionInDays != 3 || got[0].CreationTime != epoch.UnixMilli() || got[0].ARN != arn+":*" {
		t.Errorf("%+v", got)
	}
	w.call(t, "TagResource", in{"resourceArn": arn, "tags": in{"c": "3", "a": "9"}})
	w.call(t, "UntagResource", in{"resourceArn": arn + ":*", "tagKeys": []string{"b"}})
	if tags := w.call(t, "ListTagsForResource", in{"resourceArn": arn}).Tags; len(tags) != 2 || tags["a"] != "9" || tags["c"] != "3" {
		t.Errorf("%v", tags)
	}
	if streams := w.call(t, "DescribeLogStreams", in{"logGroupName": "research"}).LogStreams; len(streams) != 0 {
		t.Errorf("%v", streams)
	}
	if events := w.call(t, "FilterLogEvents", in{"logGroupName": "research"}).Events; len(events) != 0 {
		t.Errorf("%v", events)
	}
	w.call(t, "DeleteRetentionPolicy", in{"logGroupName": "research"})
	if got := find(); got[0].RetentionInDays != 0 {
		t.Errorf("%+v", got)
	}
	w.call(t, "DeleteLogGroup", in{"logGroupName": "research"})
	if got := find(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// A group that task definitions name can be created, kept for another time and deleted like any other: only its name stays.
func TestAGroupThatDefinitionsNameCanBeCreatedToo(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	w.define(t, "f", "h")
	w.call(t, "CreateLogGroup", in{"logGroupName": "g", "tags": in{"a": "1"}})
	w.call(t, "PutRetentionPolicy", in{"logGroupName": "h", "retentionInDays": 1})
	w.call(t, "TagLogGroup", in{"logGroupName": "h", "tags": in{"a": "1"}})
	w.call(t, "UntagLogGroup", in{"logGroupName": "h", "tags": []string{"a"}})
	if got := loggroup.Find(w.state.View(), "h"); got == nil || got.RetentionDays != 1 || len(got.Tags) != 0 {
		t.Errorf("%+v", got)
	}
	if got := w.call(t, "DeleteLogGroup", in{"logGroupName": "g"}); len(got.warnings) != 1 {
		t.Errorf("%q", got.warnings)
	}
	if got := w.call(t, "DescribeLogGroups", in{}).LogGroups; len(got) != 2 || got[1].CreationTime != epoch.UnixMilli() {
		t.Errorf("%+v", got)
	}
}

func TestADeletedGroupHasLostItsLogs(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	w.run(t, "f", "ended", "h", at(0, "before"))
	w.stopTask(t, "ended", "h", epoch.Add(-time.Second))
	w.run(t, "f", "runs", "h", at(-1, "before"), at(1, "after"))
	w.call(t, "DeleteLogGroup", in{"logGroupName": "g"})
	if got := w.call(t, "DescribeLogStreams", in{"logGroupName": "g"}).LogStreams; len(got) != 1 || got[0].LogStreamName != "p/c/runs" {
		t.Errorf("%+v", got)
	}
	var texts []string
	for _, event := range w.call(t, "FilterLogEvents", in{"logGroupName": "g"}).Events {
		texts = append(texts, event.Message)
	}
	same(t, "events", texts, []string{"after"})
	w.wantError(t, "GetLogEvents", in{"logGroupName": "g", "logStreamName": "p/c/ended"}, notFound, "The specified log stream does not exist.")
	if got := loggroup.Deleted(w.state.View()); len(got) != 1 {
		t.Errorf("hosts are told of %v", got)
	}
}

// Groups belong to no cluster, so a key for one sees only those that have logs it may read.
func TestAGroupWithoutLogsIsNotForAKeyOfOneCluster(t *testing.T) {
	w := newFixture(t)
	w.call(t, "CreateLogGroup", in{"logGroupName": "secret-project"})
	bound := &Request{View: w.state.View(), Logs: w, KeyClusters: "lab"}
	if _, err := bound.listTags("secret-project"); err == nil {
		t.Error("its tags are shown")
	}
	if got := bound.groupCreationTimes(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// A key for a cluster learns no names of groups from others; a task in its cluster makes the group of its definition its own.
func TestGroupsOfOtherClustersAreNotListed(t *testing.T) {
	w := oneStream(t, at(1, "a")) // a task of the default cluster, of a family of the pool
	for scope, want := range map[auth.KeyClusters]int{"": 1, "default": 1, "default,lab": 1, "lab": 0} {
		call := &Request{View: w.state.View(), Logs: w, KeyClusters: scope}
		out, err := call.describeLogGroups(t.Context(), &describeLogGroupsInput{})
		if err != nil || len(out.LogGroups) != want {
			t.Errorf("a key for %q: %+v, %v", scope, out, err)
		}
	}
}
