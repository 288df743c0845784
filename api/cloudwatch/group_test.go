package cloudwatch

import (
	"slices"
	"testing"
	"time"
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
	w.wantError(t, "CreateLogGroup", in{"logGroupName": "g"}, alreadyExists, "The specified log group already exists")
	w.wantError(t, "CreateLogGroup", in{"logGroupName": "new"}, "InvalidParameterException", "pinion: CreateLogGroup is not supported: the group new is there as soon as a task definition names it in awslogs-group. Leave this call out.")
	w.wantError(t, "DeleteLogGroup", in{"logGroupName": "new"}, notFound, none)
	w.wantError(t, "DeleteLogGroup", in{"logGroupName": "g"}, "InvalidParameterException", "pinion: DeleteLogGroup is not supported: a group goes away with the task definitions that name it.")
	for _, name := range []string{"PutRetentionPolicy", "DeleteRetentionPolicy", "CreateLogStream", "DeleteLogStream", "PutLogEvents", "TagLogGroup", "UntagLogGroup"} {
		w.wantError(t, name, in{"logGroupName": "new", "retentionInDays": 1}, notFound, none)
		if _, err := w.try(t, name, in{"logGroupName": "g"}); err == nil {
			t.Errorf("%s was not refused", name)
		}
	}
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
