package api

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pinion/api/cloudwatchlogs"
)

// logBodies are what the clients of CloudWatch Logs send, by operation.
var logBodies = map[string]string{
	"DescribeLogGroups":   `{"logGroupNamePrefix":"/pinion/","limit":1,"nextToken":"x"}`,
	"DescribeLogStreams":  `{"logGroupName":"/pinion/f","orderBy":"LastEventTime","descending":true,"limit":1}`,
	"GetLogEvents":        `{"logGroupName":"/pinion/f","logStreamName":"c/` + firstTask + `","startTime":1767323045000,"limit":2,"startFromHead":true}`,
	"FilterLogEvents":     `{"logGroupIdentifier":"arn:aws:logs:us-east-1:123456789012:log-group:/pinion/f","filterPattern":"a \"b c\" -d","interleaved":true}`,
	"ListTagsForResource": `{"resourceArn":"arn:aws:logs:us-east-1:123456789012:log-group:/pinion/f:*"}`,
	"ListTagsLogGroup":    `{"logGroupName":"/pinion/f"}`,
	"CreateLogGroup":      `{"logGroupName":"new"}`,
	"PutLogEvents":        `{"logGroupName":"/pinion/f","logStreamName":"s","logEvents":[{"timestamp":1,"message":"m"}]}`,
}

// FuzzCloudWatchLogs is FuzzAWSJSON for CloudWatch Logs: whatever body comes, the answer is sound. Of its operations a few change
// log groups.
func FuzzCloudWatchLogs(f *testing.F) {
	names := make([]string, 0, len(logBodies))
	for name, body := range logBodies {
		names = append(names, name)
		f.Add(name, `{}`)
		f.Add(name, body)
	}
	f.Add("FilterLogEvents", `{"logGroupName":"/pinion/f","filterPattern":"{ $.level = \"x\" && $.n > 1 }"}`)
	f.Add("FilterLogEvents", `{"logGroupName":"/pinion/f","filterPattern":"%a+%","logStreamNamePrefix":"c","endTime":1767323046000}`)
	slices.Sort(names)
	b := newPopulatedFixture(f)
	written(b.agent, "a line", `{"level":"x","n":2}`, "", "ünïcode \x00", "the last")
	handler := NewHandler(b.config)
	f.Fuzz(func(t *testing.T, name, body string) {
		if !slices.Contains(names, name) { // not to be lost
			name = names[len(name)%len(names)]
		}
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("X-Amz-Target", cloudwatchlogs.Target+"."+name)
		got := reply{httptest.NewRecorder()}
		handler.ServeHTTP(got, r)
		got.wantSound(t, name+" "+body)
	})
}
