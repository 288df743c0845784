package cloudwatch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/raftfsmtest"
)

// Whoever may scale a service may put alarms of it and have alarms start its policies, and nobody else may, or learns of them.
func TestWhoMayPutAnAlarm(t *testing.T) {
	f := newFixture(t)
	one := 1
	read := auth.Principal{ARN: "reader", Role: accesskey.RoleRead}
	ofLab := auth.Principal{ARN: "lab", Role: accesskey.RoleSubmit, Clusters: "lab"}
	ofSpeech := auth.Principal{ARN: "speech", Role: accesskey.RoleSubmit, Grant: accesskey.Grant{Teams: []string{"speech"}}}
	ofVision := auth.Principal{ARN: "vision", Role: accesskey.RoleSubmit, Grant: accesskey.Grant{Teams: []string{"vision"}}}
	limited := auth.Principal{ARN: "limited", Role: accesskey.RoleSubmit, Owner: "AKIA2", Grant: accesskey.Grant{MaxGPUs: &one}}
	owner := auth.Principal{ARN: "owner", Role: accesskey.RoleSubmit, Owner: "AKIA1", Grant: accesskey.Grant{MaxTasks: 1}}
	othersPolicy := map[string]any{"AlarmActions": []string{arnOf("default", "vision", "steps")}}
	for name, c := range map[string]struct {
		who              auth.Principal
		cluster, service string
		members          map[string]any
		error            string
	}{
		"a key that reads":                      {read, "default", "web", nil, wire.AccessDenied},
		"a key for another cluster":             {ofLab, "default", "web", nil, wire.AccessDenied},
		"a key for the cluster":                 {ofLab, "lab", "lab", nil, ""},
		"a key for another team":                {ofSpeech, "default", "vision", nil, invalid},
		"a key for the team":                    {ofVision, "default", "vision", nil, ""},
		"a key with limits, of another's":       {limited, "default", "web", nil, wire.AccessDenied},
		"a key with limits, of its own":         {owner, "default", "web", nil, ""},
		"a key with limits, another's policy":   {owner, "default", "web", othersPolicy, wire.AccessDenied},
		"a key for a team, another's metric":    {ofVision, "default", "web", othersPolicy, invalid},
		"a key for a cluster, another's policy": {ofLab, "lab", "lab", othersPolicy, wire.AccessDenied},
	} {
		members := map[string]any{"AlarmName": strings.ReplaceAll(name, " ", "-")}
		for member, value := range c.members {
			members[member] = value
		}
		if _, err := f.as(c.who, "PutMetricAlarm", of(c.cluster, c.service, members)); err == nil && c.error != "" || err != nil && errorType(err) != c.error {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct {
		who  auth.Principal
		sees int
	}{{read, 3}, {ofLab, 1}, {ofSpeech, 0}, {ofVision, 1}} {
		if got, _ := f.as(c.who, "DescribeAlarms", `{}`); strings.Count(got, "AlarmArn") != c.sees {
			t.Errorf("%s sees %s", c.who.ARN, got)
		}
	}
}

// The name of an alarm that a key does not see is taken all the same, and stays with whom it is of.
func TestAnAlarmOfOthersIsNotChanged(t *testing.T) {
	f := newFixture(t)
	f.must(t, "PutMetricAlarm", of("default", "vision", nil))
	ofLab := auth.Principal{ARN: "lab", Role: accesskey.RoleSubmit, Clusters: "lab"}
	ofSpeech := auth.Principal{ARN: "speech", Role: accesskey.RoleAdmin, Grant: accesskey.Grant{Teams: []string{"speech"}}}
	if _, err := f.as(ofLab, "PutMetricAlarm", of("lab", "lab", nil)); errorType(err) != wire.AccessDenied {
		t.Error(err)
	}
	for _, who := range []auth.Principal{ofLab, ofSpeech} {
		if _, err := f.as(who, "DeleteAlarms", `{"AlarmNames":["busy"]}`); errorType(err) != notFound {
			t.Errorf("%s: %v", who.ARN, err)
		}
		if _, err := f.as(who, "TagResource", `{"ResourceARN":"arn:aws:cloudwatch:us-east-1:123456789012:alarm:busy","Tags":[{"Key":"a","Value":"b"}]}`); errorType(err) != resourceNotFound {
			t.Errorf("%s: %v", who.ARN, err)
		}
	}
	f.Do(raftfsm.DeleteService{Cluster: "default", Name: "vision", Force: true, At: raftfsmtest.At(1)})
	if _, err := f.as(ofSpeech, "DeleteAlarms", `{"AlarmNames":["busy"]}`); errorType(err) != notFound {
		t.Errorf("of a service that is gone: %v", err)
	}
	f.must(t, "DeleteAlarms", `{"AlarmNames":["busy"]}`)
}

func TestAlarmsAreListedByWhatIsAsked(t *testing.T) {
	f := newFixture(t)
	for i := range 5 {
		f.must(t, "PutMetricAlarm", of("default", "web", map[string]any{"AlarmName": fmt.Sprint("busy-", i)}))
	}
	f.must(t, "PutMetricAlarm", of("lab", "lab", map[string]any{"AlarmName": "other", "Statistic": "Maximum"}))
	raftfsmtest.Change(f.State, alarm.SetState{Name: "busy-3", ConfiguredAt: raftfsmtest.Epoch, State: alarm.State{Value: alarm.InAlarm, At: raftfsmtest.At(1)}})
	list := func(operation, body string) (names []string, next string) {
		t.Helper()
		var out describeAlarmsOutput
		if err := json.Unmarshal([]byte(f.must(t, operation, body)), &out); err != nil {
			t.Fatal(err)
		}
		for _, a := range out.MetricAlarms {
			names = append(names, a.AlarmName)
		}
		return names, out.NextToken
	}
	for body, want := range map[string]string{
		`{"AlarmNamePrefix":"busy-"}`:             "[busy-0 busy-1 busy-2 busy-3 busy-4]",
		`{"AlarmNames":["other","none"]}`:         "[other]",
		`{"StateValue":"ALARM"}`:                  "[busy-3]",
		`{"AlarmTypes":["CompositeAlarm"]}`:       "[]",
		`{"ActionPrefix":"arn:aws:sns"}`:          "[]",
		`{"ActionPrefix":"arn:aws:autoscaling:"}`: "[busy-0 busy-1 busy-2 busy-3 busy-4 other]",
	} {
		if got, _ := list("DescribeAlarms", body); fmt.Sprint(got) != want {
			t.Errorf("%s: %v", body, got)
		}
	}
	var all []string
	for token, pages := "", 0; pages == 0 || token != ""; pages++ {
		some, next := list("DescribeAlarms", `{"MaxRecords":4,"NextToken":"`+token+`"}`)
		all, token = append(all, some...), next
	}
	if len(all) != 6 {
		t.Errorf("%v", all)
	}
	metric := `{"Namespace":"AWS/ECS","MetricName":"CPUUtilization","Dimensions":[{"Name":"ServiceName","Value":"lab"},{"Name":"ClusterName","Value":"lab"}]`
	if got, _ := list("DescribeAlarmsForMetric", metric+`}`); fmt.Sprint(got) != "[other]" {
		t.Errorf("%v", got)
	}
	if got, _ := list("DescribeAlarmsForMetric", metric+`,"Statistic":"Average"}`); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
