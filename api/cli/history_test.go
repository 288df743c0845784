package cli

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// withUsage is a host that has the usage of two teams, asked for by these members of the query.
func withUsage(t *testing.T, query string) *fakeHost {
	h := newFakeHost(t)
	h.documents["/v1/usage?"+query] = serveDocument(`{"rows":[{"team":"vision","day":"2026-01-02","tasks":3,"failed":1,"gpuSeconds":9015,"measuredGPUSeconds":9000,"busyGPUSeconds":3600,"joules":7200000},{"day":"2026-01-02","tasks":2,"failed":0,"gpuSeconds":0}]}`)
	return h
}

// lastMonth is --since of `pinion usage` when it is not given.
var lastMonth = "since=" + url.QueryEscape(testTime.Add(-30*24*time.Hour).Format(time.RFC3339Nano))

func TestUsageIsATableOrCSVOrJSON(t *testing.T) {
	got := pinion(t, withUsage(t, "by=team&"+lastMonth), "usage")
	for _, want := range []string{"TEAM", "GPU-HOURS", "vision", "2.5", "40%", "2.0", "-"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing: %+v", want, got)
		}
	}
	got = pinion(t, withUsage(t, "by=day%2Cteam&"+lastMonth), "usage", "--by", "day,team", "--csv")
	rows, err := csv.NewReader(strings.NewReader(got.out)).ReadAll()
	want := [][]string{{"day", "team", "gpu_hours", "tasks", "failed", "measured_gpu_hours", "busy_gpu_hours", "kwh", "running"}, {"2026-01-02", "vision", "2.504", "3", "1", "2.500", "1.000", "2.0", "0"}, {"2026-01-02", "", "0.000", "2", "0", "0.000", "0.000", "0", "0"}}
	if err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("%v, %v, %+v", rows, err, got)
	}
	h := newFakeHost(t)
	h.documents["/v1/usage?by=team&running=true&"+lastMonth] = serveDocument(`{"rows":[{"team":"vision","tasks":3,"gpuSeconds":9015,"running":7}]}`)
	if got = pinion(t, h, "usage", "--running", "--format", "{{.TEAM}} {{.RUNNING}}"); got.out != "vision 7\n" {
		t.Errorf("with tasks that run: %+v", got)
	}
	got = pinion(t, withUsage(t, "by=team&"+lastMonth), "usage", "-o", "json")
	var list []map[string]any
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) != 2 || list[0]["gpuSeconds"] != 9015.0 {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestUsageNamesKeysAndHasTheirIDsForPrograms(t *testing.T) {
	newHost := func(whoami string) *fakeHost {
		h := newFakeHost(t)
		h.documents["/v1/whoami"] = serveDocument(whoami)
		h.documents["/v1/admin/keys"] = serveDocument(`[{"id":"AKIA1","name":"ci"},{"id":"AKIA2","name":"lab"},{"id":"AKIA3","name":"lab"}]`)
		h.documents["/v1/usage?by=key&"+lastMonth] = serveDocument(`{"rows":[{"key":"AKIA1"},{"key":"AKIA2"},{"key":"AKIAGONE"},{"key":""}]}`)
		return h
	}
	keys := func(h *fakeHost, more ...string) string {
		return strings.Join(strings.Fields(pinion(t, h, append([]string{"usage", "--by", "key", "--format", "{{.KEY}},"}, more...)...).out), " ")
	}
	checkEqual(t, "for an administrator", keys(newHost(`{"role":"admin"}`)), "ci, lab (AKIA2), AKIAGONE, root,")
	other := newHost(`{"role":"submit","accessKeyId":"AKIA2","name":"lab"}`)
	checkEqual(t, "for another key", keys(other), "AKIA1, lab, AKIAGONE, root,")
	if other.callCount("/v1/admin/keys") > 0 {
		t.Error("it asked for what it may not know, which the audit log records")
	}
	if got := pinion(t, newHost(`{"role":"admin"}`), "usage", "--by", "key", "-o", "json"); !strings.Contains(got.out, `"AKIA1"`) {
		t.Errorf("%+v", got)
	}
}

func TestUsageRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for _, arguments := range [][]string{{"usage", "vision"}, {"usage", "--since", "soon"}, {"usage", "--until", "tomorrow"}, {"usage", "--by", "team,host"}} {
		if got := pinion(t, newFakeHost(t), arguments...); got.code != 2 || got.out != "" {
			t.Errorf("%v: %+v", arguments, got)
		}
	}
}

func TestThePastOfAGroupIsListed(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/history?cluster=default&group=nightly&limit=1000"] = serveDocument(`{"tasks":[{"task":{"taskArn":"arn:aws:ecs:x:0:task/default/3f2a91c00000000000000000000000aa","lastStatus":"STOPPED"},"outcome":"failed","gpus":8}]}`)
	if got := pinion(t, h, "ps", "--group", "nightly", "-q"); strings.TrimSpace(got.out) != "3f2a91c00000000000000000000000aa" {
		t.Errorf("%+v", got)
	}
	var list []map[string]any
	got := pinion(t, h, "ps", "--group", "nightly", "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) != 1 || list[0]["lastStatus"] != "STOPPED" || list[0]["outcome"] != "failed" || list[0]["gpus"] != 8.0 {
		t.Errorf("its JSON is not that of a task, with what the history has beside: %v, %+v", err, got)
	}
}

// The reason of an end is cut in a pipe as that of 'pinion ps' is, and by -o wide not at all.
func TestAPipeGetsTheReasonBrief(t *testing.T) {
	reason := "CannotPullContainerError: " + strings.Repeat("x", 200)
	h := newFakeHost(t)
	task := taskDocument(taskOne, `x:1","lastStatus":"STOPPED","desiredStatus":"STOPPED","stopCode":"TaskFailedToStart","containers":[{"name":"c","reason":"`+reason+`"}]`)
	h.withTasks(task)
	h.documents["/v1/history?cluster=default&group=nightly&limit=1000"] = serveDocument(`{"tasks":[{"task":` + task + `,"outcome":"failed"}]}`)
	for _, line := range []string{"ps -a", "ps --group nightly"} {
		brief, whole := pinion(t, h, strings.Fields(line)...), pinion(t, h, strings.Fields(line+" -o wide")...)
		if shown := strings.Count(brief.out, "x"); shown > 100 || shown < 50 || !strings.Contains(whole.out, reason) {
			t.Errorf("%s: %+v, %+v", line, brief, whole)
		}
	}
}

func TestUpKeepsTasksAsLongAsItIsTold(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	for line, want := range map[string]*DiskConfig{
		"":                         {},
		"--keep-tasks 7d":          {KeepTasks: 7 * 24 * time.Hour},
		"--keep-tasks 12h":         {KeepTasks: 12 * time.Hour},
		"--keep-tasks-count 1000":  {KeepTasksCount: 1000},
		"--keep-tasks-size 300m":   {KeepTasksBytes: 300 << 20},
		"--keep-tasks 5m":          nil,
		"--keep-tasks 0d":          nil,
		"--keep-tasks long":        nil,
		"--keep-tasks-count -1":    nil,
		"--keep-tasks-count many":  nil,
		"--keep-tasks-size little": nil,
	} {
		var got *DiskConfig
		up := func(_ context.Context, c UpConfig) error { got = &c.Disk; return nil }
		ran := pinionWith(t, Program{Up: up}, nil, append([]string{"up"}, strings.Fields(line)...)...)
		if !reflect.DeepEqual(got, want) || (ran.code == 2) != (want == nil) {
			t.Errorf("up %s: %+v, %+v", line, got, ran)
		}
	}
}

func TestPsTakesTheStateInAnyCaseAndTheDayByItsName(t *testing.T) {
	defer func(zone *time.Location) { time.Local = zone }(time.Local)
	time.Local = time.FixedZone("CEST", 2*60*60)
	year, month, day := testTime.In(time.Local).Date()
	for name, day := range map[string]int{"today": day, "Yesterday": day - 1} {
		h := newFakeHost(t)
		since := time.Date(year, month, day, 0, 0, 0, 0, time.Local).UTC().Format(time.RFC3339Nano)
		h.documents["/v1/history?cluster=default&limit=1000&outcome=failed&since="+url.QueryEscape(since)] = serveDocument(`{"tasks":[]}`)
		if got := pinion(t, h, "ps", "--state", "FAILED", "--since", name); got.code != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
