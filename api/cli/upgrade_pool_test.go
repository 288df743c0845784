package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/api/cli/invocation"
	"pinion/api/upgrade"
	"pinion/packaging/signature"
)

// upgradable is a pool as the command sees it: hosts that have programs, and are upgraded when they are asked to.
type upgradable struct {
	*fakeHost
	key   signature.PrivateKey
	file  string                                     // the new program, signed by the key
	fails string                                     // the host whose upgrade fails
	rests func(host string, since time.Duration) any // what a host answers so long after its upgrade instead of its status; nil: its status

	mu    sync.Mutex
	now   time.Time // of the command, which sleeps in no time
	hosts []string  // their names, which are their ids; the last one leads, the two before it are servers
	has   map[string]*upgrade.Status
	begun []string
	arms  []string             // the hosts that are for arm64; the others and the program are for x86-64
	sick  map[string]string    // what is wrong with the GPUs of a host
	at    map[string]time.Time // when each has begun last, which is when its program was started
}

func newUpgradable(t *testing.T, hosts ...string) *upgradable {
	t.Helper()
	key, err := signature.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	u := &upgradable{fakeHost: newFakeHost(t), key: key, hosts: hosts, now: testTime, has: map[string]*upgrade.Status{}, sick: map[string]string{}, at: map[string]time.Time{}, file: filepath.Join(t.TempDir(), "pinion")}
	program := make([]byte, 64) // the header of one
	copy(program, "\x7fELF\x02\x01\x01")
	program[16], program[18], program[20] = 2, byte(elf.EM_X86_64), 1
	signed, err := signature.Sign(bytes.NewReader(program), key, "pinion B")
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{u.file: program, u.file + signature.Extension: signed} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u.documents["/v1/hosts"] = func(http.ResponseWriter) any { return u.list() }
	u.documents["/v1/images"] = serveDocument(`[]`)
	u.operations["admin/images/import?name="+upgradeImage(t, u.file)] = always(`[{"name":"pinion.invalid/upgrade:1","digest":"sha256:1"}]`)
	for _, h := range hosts {
		u.has[h] = &upgrade.Status{Running: upgrade.Release{Version: "A", Digest: "sha256:a"}, Keys: []string{key.Public().String()}}
		u.documents["/v1/admin/hosts/"+h+"/upgrade"] = func(http.ResponseWriter) any { return u.status(h) }
		u.operations["admin/hosts/"+h+"/upgrade"] = func(in map[string]any) any { return u.begin(h, in) }
		u.operations["admin/hosts/"+h+"/upgrade/rollback"] = func(in map[string]any) any { return u.begin(h, in) }
	}
	return u
}

// upgradeImage is the name of the image that a program travels in, as a query has it.
func upgradeImage(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(content)
	return fmt.Sprintf("pinion.invalid%%2Fupgrade%%3A%x", digest[:6])
}

func (u *upgradable) list() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []string
	for i, h := range u.hosts {
		role := "agent"
		switch len(u.hosts) - i {
		case 1:
			role = "leader"
		case 2, 3:
			role = "server"
		}
		all = append(all, fmt.Sprintf(`{"id":%q,"name":%q,"address":"10.0.0.5:7400","role":%q,"connected":true,"attributes":{"ecs.cpu-architecture":%q},"gpus":{"problem":%q}}`, h, h, role, u.arch(h), u.sick[h]))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// pinion runs a command line while the clock goes.
func (u *upgradable) pinion(t *testing.T, args ...string) result {
	t.Helper()
	return pinionWith(t, Program{system: invocation.System{Now: u.clock, Sleep: func(ctx context.Context, d time.Duration) error {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.now = u.now.Add(d)
		return ctx.Err()
	}}}, u.fakeHost, append([]string{"upgrade"}, args...)...)
}

func (u *upgradable) clock() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.now
}

// logIndex is what every server has applied unless a test says otherwise.
const logIndex = 1000

func (u *upgradable) status(host string) any {
	u.mu.Lock()
	defer u.mu.Unlock()
	since := u.now.Sub(u.at[host])
	if u.rests != nil {
		if answer := u.rests(host, since); answer != nil {
			return answer
		}
	}
	return u.says(host, since, logIndex)
}

// says is what a host says that was started so long ago.
func (u *upgradable) says(host string, since time.Duration, applied uint64) upgrade.Status {
	status := *u.has[host]
	status.UptimeMS = max(1, since.Milliseconds())
	if slices.Index(u.hosts, host) >= len(u.hosts)-3 {
		status.Applied = &applied
	}
	return status
}

func (u *upgradable) arch(host string) string {
	if slices.Contains(u.arms, host) {
		return "arm64"
	}
	return "x86_64"
}

// begin is the whole upgrade of a host.
func (u *upgradable) begin(host string, in map[string]any) any {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.begun, u.at[host] = append(u.begun, host), u.now
	status := u.has[host]
	program, _ := in["program"].(string)
	last := upgrade.Attempt{ID: in["id"].(string), At: u.now, State: upgrade.Confirmed, From: status.Running, To: upgrade.Release{Version: "B", Digest: program}, Rollback: program == ""}
	last.Problems = []string{}
	if told, _ := in["problems"].([]any); told != nil {
		last.Problems = append(last.Problems, fmt.Sprint(told...))
	}
	switch {
	case host == u.fails:
		last.State, last.Reason = upgrade.RolledBack, "B ended before the host was ready"
	case last.Rollback:
		last.To = *status.Before
		status.Running, status.Before = last.To, nil
	default:
		before := status.Running
		status.Running, status.Before = last.To, &before
	}
	status.Last = &last
	return u.says(host, 0, logIndex)
}

func TestAPoolIsUpgradedInItsOrderAndPutBack(t *testing.T) {
	u := newUpgradable(t, "a1", "a2", "a3", "s1", "s2", "l")
	run := func(args ...string) result { return u.pinion(t, args...) }
	order := []string{"a1", "a2", "a3", "s1", "s2", "l"}
	if got := run("--to", u.file, "--all", "--dry-run"); got.code != 0 || strings.Count(got.out, "next") != len(order) || len(u.begun) > 0 {
		t.Fatalf("dry run: %+v, begun %v", got, u.begun)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--to", u.file, "--on-host", "a3"}, []string{"a3"}},
		{[]string{"--to", u.file, "--all", "--step", "2"}, []string{"a1", "a2", "s1", "s2", "l"}},
		{[]string{"--to", u.file, "--all"}, nil},
		{[]string{"rollback", "--all"}, order},
		{[]string{"rollback", "--all"}, nil},
		{[]string{"--to", u.file, "--all", "-o", "json"}, order},
	} {
		u.begun = nil
		if got := run(c.args...); got.code != 0 || !slices.Equal(u.begun, c.want) {
			t.Errorf("%v: begun %v, %+v", c.args, u.begun, got)
		}
	}
	if got := run("status", "--all"); got.code != 0 || strings.Count(got.out, "CONFIRMED") != len(order) {
		t.Errorf("status: %+v", got)
	}
}

// The first host that fails stops the upgrade, with its name and its reason.
func TestAHostThatFailsStopsTheUpgradeOfAPool(t *testing.T) {
	u := newUpgradable(t, "a1", "a2", "s1", "s2", "l")
	u.fails = "a2"
	got := u.pinion(t, "--to", u.file, "--all")
	if got.code != 1 || !slices.Equal(u.begun, []string{"a1", "a2"}) || !strings.Contains(got.err, "a2") || !strings.Contains(got.err, "B ended") {
		t.Errorf("begun %v, %+v", u.begun, got)
	}
	u.fails, u.begun = "", nil
	if got := u.pinion(t, "--to", u.file, "--all"); got.code != 0 || !slices.Equal(u.begun, []string{"a2", "s1", "s2", "l"}) {
		t.Errorf("the same command goes on: begun %v, %+v", u.begun, got)
	}
}

// Nothing begins when one host would refuse the program, or a line is wrong.
func TestAnUpgradeThatCannotBeWholeDoesNotBegin(t *testing.T) {
	u := newUpgradable(t, "a1", "s1", "s2", "l")
	other, err := signature.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	trusted := u.has["s2"].Keys
	for name, keys := range map[string][]string{"no key": {}, "another key": {other.Public().String()}} {
		u.has["s2"].Keys = keys
		if got := u.pinion(t, "--to", u.file, "--all"); got.code != 1 || !strings.Contains(got.err, "s2") || len(u.begun) > 0 {
			t.Errorf("%s: begun %v, %+v", name, u.begun, got)
		}
	}
	u.has["s2"].Keys = trusted
	u.arms = []string{"a1"}
	if got := u.pinion(t, "--to", u.file, "--all"); got.code != 1 || !strings.Contains(got.err, "a1") || !strings.Contains(got.err, "arm64") || !strings.Contains(got.err, "--on-host") || len(u.begun) > 0 {
		t.Errorf("a host of another processor: begun %v, %+v", u.begun, got)
	}
	u.arms = nil
	bare := filepath.Join(t.TempDir(), "bare")
	if err := os.WriteFile(bare, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, code := range map[string]int{
		"--to " + bare + " --all": 2, "--to " + u.file + " --all --on-host a1": 2, "--to " + u.file + " --all --step 0": 2, "--to " + u.file + " --all --timeout 1ms": 2, "--to " + u.file + " --step 2": 2, "--to " + u.file + " --dwell 1s": 2, "--to " + u.file + " --all --dwell -1s": 2,
		"--to " + bare + " --signature " + u.file + signature.Extension + " --all": 1, "--to " + u.file + " --on-host nope": 1, "rollback --all --step 0": 2, "--to /nowhere/pinion --all": 2,
	} {
		if got := u.pinion(t, strings.Fields(line)...); got.code != code || len(u.begun) > 0 {
			t.Errorf("%s: begun %v, %+v", line, u.begun, got)
		}
	}
}

// A rollback takes the newest upgrade back, and no earlier one: not from hosts that the newest did not come to, and not when it is given again.
func TestARollbackIsOfTheNewestUpgradeAlone(t *testing.T) {
	u := newUpgradable(t, "a1", "a2", "s1", "s2", "l")
	a, b, c := upgrade.Release{Version: "A", Digest: "sha256:a"}, upgrade.Release{Version: "B", Digest: "sha256:b"}, upgrade.Release{Version: "C", Digest: "sha256:c"}
	begun := testTime.Add(-time.Hour)
	for name, status := range u.has {
		status.Running, status.Before = b, &a
		status.Last = &upgrade.Attempt{ID: "first", State: upgrade.Confirmed, From: a, To: b, At: begun}
		switch name {
		case "a1":
			status.Running, status.Before = c, &b
			status.Last = &upgrade.Attempt{ID: "second", State: upgrade.Confirmed, From: b, To: c, At: begun.Add(time.Minute)}
		case "a2":
			status.Before = nil
			status.Last = &upgrade.Attempt{ID: "third", State: upgrade.RolledBack, Reason: "it was not ready", From: b, To: c, At: begun.Add(2 * time.Minute)}
		}
	}
	for _, time := range []string{"the first time", "again"} {
		got := u.pinion(t, "rollback", "--all")
		if got.code != 0 || !slices.Equal(u.begun, []string{"a1"}) || u.has["a1"].Running != b || u.has["s1"].Running != b {
			t.Errorf("%s: %+v, begun %v", time, got, u.begun)
		}
	}
}

// A pool with two processors takes one file for the hosts of each: --on-host says which.
func TestHostsOfTwoProcessorsAreUpgradedApart(t *testing.T) {
	u := newUpgradable(t, "a1", "a2", "l")
	u.arms = []string{"a2"}
	if got := u.pinion(t, "--to", u.file, "--on-host", "a1", "--on-host", "l"); got.code != 0 || !slices.Equal(u.begun, []string{"a1", "l"}) {
		t.Errorf("those of the file: begun %v, %+v", u.begun, got)
	}
	if got := u.pinion(t, "--to", u.file, "--on-host", "a2"); got.code != 1 || !slices.Equal(u.begun, []string{"a1", "l"}) {
		t.Errorf("one of the other processor: begun %v, %+v", u.begun, got)
	}
}
