package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

const hostTwo = "bbbb0000000000000000000000000002"

// newTwoHostPool is host gpu-1 in a pool with gpu-2, with so many tasks left at each poll; the last number stays.
func newTwoHostPool(t *testing.T, left ...int) *fakeHost {
	h := newFakeHost(t)
	polls := 0
	h.documents["/v1/hosts"] = func(http.ResponseWriter) any {
		tasks := 0
		if len(left) > 0 {
			tasks = left[min(polls, len(left)-1)]
			polls++
		}
		return fmt.Sprintf(`[{"id":"%s","name":"gpu-1","cluster":"lab","connected":true,"status":"ACTIVE","role":"leader","tasks":%d},
			{"id":"%s","name":"gpu-2","cluster":"lab","connected":false,"status":"DRAINING","tasks":0,"gpus":{"devices":[{"uuid":"GPU-9","index":0,"problem":"fell off the bus"}]}}]`, hostOne, tasks, hostTwo)
	}
	h.documents["/v1/version"] = serveDocument(`{"version":"0.1.0","hostId":"` + hostOne + `"}`)
	h.operations["UpdateContainerInstancesState"] = always(`{"containerInstances":[],"failures":[]}`)
	for _, change := range []string{"remove", "promote", "demote"} {
		h.operations["admin/hosts/"+change] = always("{}")
	}
	return h
}

func TestTokenPrintsTheTokenAndHowToUseIt(t *testing.T) {
	h := newFakeHost(t)
	h.operations["admin/tokens"] = always(`{"token":"pinion1.ca.id.secret","join":"10.0.0.5:7400"}`)
	got := pinion(t, h, "token", "--ttl", "1h", "--uses", "3")
	checkEqual(t, "stdout", got.out, "pinion1.ca.id.secret\n")
	checkEqual(t, "stderr", got.err, "On the machine that joins: sudo pinion up --join 10.0.0.5:7400 --token-file FILE   # a file with the token, or - to paste it\n")
	checkEqual(t, "asked", h.bodies["admin/tokens"], `{"cluster":"","role":"host","ttl":"1h0m0s","uses":3}`)
}

// A token for no host would be a token for the default number of hosts to whoever does not look.
func TestATokenIsForOneHostOrMore(t *testing.T) {
	for _, arguments := range [][]string{{"--uses", "0"}, {"--uses", "-1"}, {"--ttl", "0s"}, {"--cluster", "a/b"}, {"--role", "server"}} {
		if got := pinion(t, newFakeHost(t), append([]string{"token"}, arguments...)...); got.code != exit.Usage {
			t.Errorf("%q: %d %s", arguments, got.code, got.err)
		}
	}
}

func TestTokensAreListedAndRevoked(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/admin/tokens"] = serveDocument(`[{"id":"7k2m","role":"host","cluster":"lab","uses":3,"used":1,"createdAt":"2025-06-01T11:00:00Z","expires":"2025-06-01T13:00:00Z"},
		{"id":"old","role":"host","cluster":"default","uses":1,"used":1,"createdAt":"2025-05-30T12:00:00Z","expires":"2025-05-31T12:00:00Z"}]`)
	h.operations["admin/tokens/revoke"] = always("{}")
	checkEqual(t, "token ls", pinion(t, h, "token", "ls").out, `
ID    CLUSTER  USED  AGE  EXPIRES
7k2m  lab      1/3   60m  in 60m
old   default  1/1   2d   expired
`[1:])
	checkEqual(t, "token revoke", pinion(t, h, "token", "revoke", "7k2m", "old").out, "7k2m\nold\n")
	if h.callCount("admin/tokens/revoke") != 2 {
		t.Errorf("%q", h.calls)
	}
}

func TestHostsShowsWhoIsSilentAndWhoIsSick(t *testing.T) {
	got := pinion(t, newTwoHostPool(t), "hosts", "-o", "wide").out
	if !strings.Contains(got, "UNKNOWN") || strings.Contains(got, "LOST") || !strings.Contains(got, "GPU 0: fell off the bus") || !strings.Contains(got, "leader") {
		t.Errorf("%s", got)
	}
}

// A host is UNKNOWN while it may come back to its tasks, as they are, and LOST once they are STOPPED.
func TestAHostIsLostOnceItsTasksAreGivenUp(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/hosts"] = serveDocument(`[{"id":"` + hostOne + `","name":"gpu-1","connected":false,"status":"ACTIVE"},
		{"id":"` + hostTwo + `","name":"gpu-2","connected":false,"status":"ACTIVE","lostAt":"2025-06-01T11:00:00Z"}]`)
	got := pinion(t, h, "hosts", "--format", "{{.NAME}} {{.HEALTH}}").out
	checkEqual(t, "health", got, "gpu-1 UNKNOWN\ngpu-2 LOST\n")
}

func TestHostsAreNamedByNameIdOrItsBeginning(t *testing.T) {
	for _, name := range []string{"gpu-2", hostTwo, "bb", "BBBB"} {
		h := newTwoHostPool(t)
		if got := pinion(t, h, "hosts", "rm", "--force", name); got.code != 0 || got.out != "gpu-2 is removed\n" || h.bodies["admin/hosts/remove"] != `{"force":true,"host":"`+hostTwo+`"}` {
			t.Errorf("%s: %+v, sent %s", name, got, h.bodies["admin/hosts/remove"])
		}
	}
	got := pinion(t, newTwoHostPool(t), "hosts", "promote", "gpu-3")
	checkEqual(t, "a host that is not there", got.err, "pinion: no host has the name \"gpu-3\", and no id begins with it; `pinion hosts` lists them\n")
	if got := pinion(t, newTwoHostPool(t), "hosts", "demote", "gpu-1"); got.out != "demoting gpu-1 to agent\n" {
		t.Errorf("%+v", got)
	}
}

func TestDrainWaitsForTheTasksAndTellsHowManyAreLeft(t *testing.T) {
	h := newTwoHostPool(t, 2, 2, 2, 1, 0)
	got := pinion(t, h, "drain", "gpu-1")
	checkEqual(t, "stdout", got.out, "gpu-1 is drained\n")
	checkEqual(t, "stderr", got.err, "gpu-1: 2 tasks still running ...\ngpu-1: 1 task still running ...\n")
	checkEqual(t, "asked", h.bodies["UpdateContainerInstancesState"], `{"cluster":"lab","containerInstances":["`+hostOne+`"],"status":"DRAINING"}`)
}

func TestDrainStopsTasksByADeadline(t *testing.T) {
	h := newTwoHostPool(t, 0)
	asked := ""
	h.operations["UpdateContainerInstancesState"] = func(in map[string]any) any {
		asked += fmt.Sprint(in["stopTasks"], " ", in["deadlineSeconds"], "; ")
		return map[string]any{}
	}
	pinion(t, h, "drain", "--stop", "--deadline", "30m", "gpu-1")
	pinion(t, h, "drain", "gpu-1", "--stop")
	checkEqual(t, "asked", asked, "true 1800; <nil> <nil>; true 0; <nil> <nil>; ")
	if got := pinion(t, h, "drain", "--deadline", "30m", "gpu-1"); got.code != 2 {
		t.Errorf("%+v", got)
	}
}

func TestDrainGivesUpAndLeavesTheHostDrained(t *testing.T) {
	clock := testTime
	inv := &invocation.Invocation{Err: io.Discard, Now: func() time.Time { return clock }, Sleep: func(context.Context, time.Duration) error { clock = clock.Add(time.Minute); return nil }}
	h := newTwoHostPool(t, 2)
	inv.Client, _ = client.New(client.Config{Socket: filepath.Join(h.dir, "pinion.sock")})
	host, err := inv.FindHost(t.Context(), "gpu-1")
	if err != nil {
		t.Fatal(err)
	}
	err = drain(t.Context(), inv, host, 10*time.Minute)
	const want = "host gpu-1 still has 2 tasks after 10m0s, and gets no new ones. `pinion ps` lists them; `pinion activate gpu-1` makes the host schedulable again"
	if err == nil || err.Error() != want || clock.Sub(testTime) != 10*time.Minute {
		t.Errorf("after %s: %v", clock.Sub(testTime), err)
	}
}

func TestActivateTakesAHostBack(t *testing.T) {
	h := newTwoHostPool(t)
	if got := pinion(t, h, "activate", "gpu-2"); got.out != "gpu-2 is active\n" || !strings.Contains(h.bodies["UpdateContainerInstancesState"], `"status":"ACTIVE"`) {
		t.Errorf("%+v", got)
	}
}

// runLeave runs `pinion leave`; the machine is cleaned up only after the pool knows.
func runLeave(t *testing.T, h *fakeHost, arguments ...string) (result, *DownConfig) {
	t.Helper()
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	var ended *DownConfig
	down := func(_ context.Context, c DownConfig) (int, error) {
		if h.callCount("admin/hosts/remove") == 0 {
			t.Error("the machine was cleaned up before the host was removed")
		}
		ended = &c
		return 0, nil
	}
	return pinionWith(t, Program{Down: down}, h, append([]string{"leave"}, arguments...)...), ended
}

func TestLeaveDrainsRemovesAndCleansUp(t *testing.T) {
	h := newTwoHostPool(t, 1, 1, 0)
	got, ended := runLeave(t, h)
	if got.code != 0 || got.out != "gpu-1 has left\n" || ended == nil || *ended != (DownConfig{DataDir: h.dir, Purge: true, Force: true}) {
		t.Errorf("%+v, %+v", got, ended)
	}
	checkEqual(t, "removed", h.bodies["admin/hosts/remove"], `{"host":"`+hostOne+`"}`)
}

func TestLeaveByForceDoesNotWait(t *testing.T) {
	h := newTwoHostPool(t, 5)
	if got, ended := runLeave(t, h, "--force"); got.code != 0 || ended == nil || h.callCount("UpdateContainerInstancesState") != 0 {
		t.Errorf("%+v, %+v", got, ended)
	}
	checkEqual(t, "removed", h.bodies["admin/hosts/remove"], `{"force":true,"host":"`+hostOne+`"}`)
}

// The leader that removes itself may be gone before it has answered; asked again, the next one does not know the host.
func TestLeaveCountsAHostThatIsNotKnownAsRemoved(t *testing.T) {
	h := newTwoHostPool(t)
	tries := 0
	h.operations["admin/hosts/remove"] = func(map[string]any) any {
		if tries++; tries == 1 {
			return errorReply{500, "ServerException", "outcome unknown"}
		}
		return errorReply{404, "NotFoundException", "There is no host with the id"}
	}
	if got, ended := runLeave(t, h); got.code != 0 || ended == nil {
		t.Errorf("%+v, %+v", got, ended)
	}
}

func TestWhoCannotLeave(t *testing.T) {
	alone := newFakeHost(t).withTasks()
	alone.documents["/v1/version"] = serveDocument(`{"version":"0.1.0","hostId":"` + hostOne + `"}`)
	gone := newFakeHost(t).withTasks()
	gone.documents["/v1/version"] = serveDocument(`{"version":"0.1.0","hostId":"` + hostTwo + `"}`)
	for says, h := range map[string]*fakeHost{
		"this is the only host of its pool": alone, "was already removed from the pool": gone, "no host runs here": nil,
	} {
		if got, ended := runLeave(t, h); got.code != 1 || ended != nil || !strings.Contains(got.err, says) {
			t.Errorf("want %q: %+v", says, got)
		}
	}
	if got, _ := runLeave(t, alone, "--host", "gpu-1:7400"); got.code != 2 {
		t.Errorf("%+v", got)
	}
}

func TestASnapshotIsThereWhenItIsWholeAndGood(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/admin/snapshot?history=1"] = serveDocument("the whole state and its past")
	h.documents["/v1/admin/snapshot"] = serveDocument("the state")
	file := filepath.Join(t.TempDir(), "s")
	got := pinion(t, h, "snapshot", "save", file)
	checkEqual(t, "save", got.out, "saved "+file+", 0.0 KiB\n")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if got := pinion(t, h, "snapshot", "save", "--without-history", file+"2"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]string{file: "the whole state and its past", file + "2": "the state"} {
		if saved, err := os.ReadFile(name); err != nil || !strings.Contains(string(saved), want) {
			t.Errorf("%s: %s, %v", name, saved, err)
		}
	}
	if got := pinion(t, h, "snapshot", "save", filepath.Dir(file)); got.code != exit.Usage || !strings.Contains(got.err, "is a directory") {
		t.Errorf("into a directory: %+v", got)
	}
	bad := Program{InspectSnapshot: func(io.Writer, string, bool) error { return errors.New("the checksum is wrong") }}
	other := filepath.Join(t.TempDir(), "s")
	if got := pinionWith(t, bad, h, "snapshot", "save", other); got.code != 1 || got.err != "pinion: the checksum is wrong\n" {
		t.Errorf("%+v", got)
	}
	if left, _ := os.ReadDir(filepath.Dir(other)); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestWhatAProgramCannotDoIsNoCommand(t *testing.T) {
	if got := pinion(t, nil, "recover"); got.code != 2 || !strings.Contains(got.err, `there is no command "recover"`) {
		t.Errorf("%+v", got)
	}
	if got := pinion(t, nil, "snapshot", "restore", "x"); got.code != 2 {
		t.Errorf("%+v", got)
	}
}

func TestRestoreAndRecoverAreAboutThisMachine(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	var did []string
	p := Program{
		Restore: func(_ context.Context, h OfflineHost, file string) error {
			did = append(did, filepath.Base(h.DataDir)+" "+file)
			return nil
		},
		Recover: func(_ context.Context, h OfflineHost) error { did = append(did, filepath.Base(h.DataDir)); return nil },
	}
	dir := t.TempDir()
	if got := pinionWith(t, p, nil, "--data-dir", dir, "snapshot", "restore", "/backup/s"); !strings.Contains(got.err, "stop the old hosts permanently") {
		t.Errorf("%+v", got)
	}
	pinionWith(t, p, nil, "recover", "--data-dir", dir)
	if want := []string{filepath.Base(dir) + " /backup/s", filepath.Base(dir)}; strings.Join(did, ";") != strings.Join(want, ";") {
		t.Errorf("%q", did)
	}
}
