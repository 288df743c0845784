package cli

import (
	"context"
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

// newSharedHost has tasks of two keys, of a person and of root, with one of a service, and is asked by the key of Anna.
func newSharedHost(t *testing.T, caller string) *fakeHost {
	by := func(id, key, more string) string {
		attributes := ""
		if key != "" {
			attributes = `{"name":"pinion.key","value":"` + key + `"}`
		}
		return taskDocument(id+taskOne[4:], `work:1","lastStatus":"RUNNING","desiredStatus":"RUNNING","createdAt":1748779020.000,"containers":[],"attributes":[`+attributes+`]`+more)
	}
	h := newFakeHost(t).withTasks(by("0001", "AKIAANNA", ""), by("0002", "AKIABOB", ""), by("0003", "", ""), by("0004", "AKIAANNA", `,"group":"service:web"`), by("0005", "login/carl", ""))
	h.documents["/v1/whoami"] = serveDocument(`{"arn":"arn:aws:iam::123456789012:` + caller + `","role":"submit"}`)
	h.documents["/v1/queue?cluster=default"] = serveDocument(`[{"taskId":"0001` + taskOne[4:] + `","key":"AKIAANNA"},{"taskId":"0003` + taskOne[4:] + `"}]`)
	h.operations["StopTask"] = always("{}")
	return h
}

func TestMineAreTheTasksOfTheCallersKeyOrLogin(t *testing.T) {
	ids := func(beginnings ...string) (lines string) {
		for _, beginning := range beginnings {
			lines += beginning + taskOne[4:] + "\n"
		}
		return lines
	}
	for caller, want := range map[string]map[string]string{
		"user/AKIAANNA":   {"ps --mine -q": ids("0001", "0004"), "queue --mine -q": ids("0001"), "stop --mine --no-wait": ids("0001"), "ps -q --filter key=AKIABOB": ids("0002")},
		"user/login/carl": {"ps --mine -q": ids("0005"), "queue --mine -q": "", "stop --mine --no-wait": ids("0005")},
		"root":            {"ps --mine -q": ids("0003"), "queue --mine -q": ids("0003"), "stop --mine --no-wait": ids("0003"), "ps -q --filter key=root": ids("0003")},
	} {
		for line, want := range want {
			got := pinion(t, newSharedHost(t, caller), strings.Fields(line)...)
			checkEqual(t, caller+": "+line, got.out, want)
			if got.code != 0 {
				t.Errorf("%s: %+v", line, got)
			}
		}
	}
	h := newSharedHost(t, "user/AKIAANNA")
	if got := pinion(t, h, "stop", "--mine", "--no-wait"); !strings.Contains(got.err, "1 task of services run on") || !strings.Contains(got.err, "stopping 1 task of yours") || h.callCount("StopTask") != 1 {
		t.Errorf("%+v", got)
	}
	if got := pinion(t, newSharedHost(t, "user/AKIADORA"), "stop", "--mine"); got.code != 1 || !strings.Contains(got.err, "no task of yours is left to stop") {
		t.Errorf("%+v", got)
	}
	for _, wrong := range []string{"stop --mine 0001", "stop --mine --group nightly", "ps --mine --key AKIABOB"} {
		if got := pinion(t, newSharedHost(t, "root"), strings.Fields(wrong)...); got.code != exit.Usage {
			t.Errorf("%s: %+v", wrong, got)
		}
	}
}

// An administrator may stop the tasks of others, and is to see when that happened.
func TestStopSaysWhoseTasksTheyWere(t *testing.T) {
	h := newSharedHost(t, "user/AKIAANNA")
	if got := pinion(t, h, "stop", "--no-wait", "0001"); got.err != "" {
		t.Errorf("her own: %+v", got)
	}
	got := pinion(t, h, "stop", "--no-wait", "0001", "0002", "0003", "0005")
	checkEqual(t, "stderr", got.err, "run by AKIABOB, not by you: 000200000000\nrun by login/carl, not by you: 000500000000\nrun by root, not by you: 000300000000\n")
	h = newSharedHost(t, "root")
	h.documents["/v1/whoami"] = serveDocument(`{"arn":"arn:aws:iam::123456789012:root","role":"admin"}`)
	h.documents["/v1/admin/keys"] = serveDocument(`[{"id":"AKIABOB","name":"ci"}]`)
	checkEqual(t, "with its name", pinion(t, h, "stop", "--no-wait", "0002").err, "run by ci, not by you: 000200000000\n")
}

func TestDownSaysWhoseTasksItEnded(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	task := taskDocument(taskOne, `x:1","containerInstanceArn":"`+instance+`","lastStatus":"RUNNING","desiredStatus":"RUNNING","containers":[],"attributes":[{"name":"pinion.key","value":"AKIABOB"}]`)
	h := newFakeHost(t).withTasks(task)
	h.documents["/v1/version"] = serveDocument(`{"hostId":"` + hostOne + `"}`)
	p := Program{Down: func(context.Context, DownConfig) (int, error) { return 1, nil }}
	if got := pinionWith(t, p, h, "down", "--force"); got.code != 0 || !strings.Contains(got.err, "(1 of AKIABOB)") {
		t.Errorf("%+v", got)
	}
	h.documents["/v1/whoami"] = serveDocument(`{"role":"admin"}`)
	h.documents["/v1/admin/keys"] = serveDocument(`[{"id":"AKIABOB","name":"ci"}]`)
	if got := pinionWith(t, p, h, "down", "--force"); !strings.Contains(got.err, "(1 of ci)") {
		t.Errorf("%+v", got)
	}
}

// endedDocument is a page of the history with a task of each of these names, the first of which a key ran.
func endedDocument(next string, names ...string) string {
	var tasks []string
	for i, name := range names {
		key := ""
		if i == 0 {
			key = `,"key":"AKIAANNA"`
		}
		task := taskDocument(strings.Repeat(name[:1], 32), name+`:1","lastStatus":"STOPPED","containers":[]`)
		tasks = append(tasks, `{"task":`+task+`,"outcome":"failed"`+key+`}`)
	}
	return `{"tasks":[` + strings.Join(tasks, ",") + `],"next":"` + next + `"}`
}

// A limit is of what the filters leave, however many other tasks ended later.
func TestTheHistoryIsFilteredBeforeItIsCutOff(t *testing.T) {
	h := newSharedHost(t, "root")
	h.documents["/v1/history?cluster=default&key=AKIAANNA&limit=1"] = serveDocument(endedDocument("", "a"))
	h.documents["/v1/history?cluster=default&family=x&limit=1000"] = serveDocument(endedDocument("7", "a", "b", "c"))
	h.documents["/v1/history?cluster=default&family=x&limit=1000&page=7"] = serveDocument(endedDocument("", "d", "e"))
	ids := func(names string) (lines string) {
		for _, name := range strings.Fields(names) {
			lines += strings.Repeat(name, 32) + "\n"
		}
		return lines
	}
	for line, want := range map[string]result{
		"--limit 2 --filter name=e":                 {out: ids("e")},
		"--limit 1 --filter name=b --filter name=e": {out: ids("b"), err: "there are more than 1 task: choose with --since, --state, --team, --family, or --limit\n"},
		"--limit 3 --mine":                          {out: ids("b c e")},
		"--limit 1 --filter key=AKIAANNA":           {out: ids("a"), err: "there are more than 1 task: choose with --since, --state, --team, --family, or --limit\n"},
		"--limit 2 --filter colour=red":             {code: exit.Usage},
	} {
		got := pinion(t, h, append(strings.Fields("ps -q --family x"), strings.Fields(line)...)...)
		if want.code != 0 {
			got.err = ""
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", line, got, want)
		}
	}
	if got := pinion(t, h, "ps", "--family", "x", "--filter", "name=f"); !strings.Contains(got.err, "nothing matches the filter: there is name a, a:1, b") {
		t.Errorf("%+v", got)
	}
	checkEqual(t, "of a key, which the host chooses", pinion(t, h, "ps", "-q", "--key", "AKIAANNA", "--limit", "1").out, ids("a"))
}

func TestWhoLooksForLiveTasksInTheHistoryIsToldHowToFindThem(t *testing.T) {
	h := newSharedHost(t, "root")
	for _, query := range []string{"group=arr", "key=AKIABOB"} {
		h.documents["/v1/history?cluster=default&"+query+"&limit=1000"] = serveDocument(endedDocument(""))
		name, value, _ := strings.Cut(query, "=")
		if got := pinion(t, h, "ps", "--"+name, value); !strings.Contains(got.err, "for tasks that have not ended: pinion ps --filter "+query) {
			t.Errorf("%s: %+v", query, got)
		}
	}
	if got := pinion(t, h, "ps", "--state", "pending"); got.code != exit.Usage || !strings.Contains(got.err, "--filter status=RUNNING") {
		t.Errorf("%+v", got)
	}
}
