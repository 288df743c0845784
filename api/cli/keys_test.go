package cli

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/api/audit"
	"pinion/api/cli/exit"
)

func TestAKeyIsPrintedSoThatAShellCanTakeIt(t *testing.T) {
	h := newFakeHost(t)
	h.operations["admin/keys"] = always(`{"accessKeyId":"AKIA1","secretAccessKey":"se/cret+","role":"read","cluster":"lab"}`)
	servesItsAddress(h)
	const connection = "pinion://AKIA1:se%2Fcret+@10.0.0.1:7400?ca=sha256:" + someFingerprint
	got := pinion(t, h, "keys", "create", "--role", "read", "--cluster", "lab")
	checkEqual(t, "stdout", got.out, "export AWS_ACCESS_KEY_ID='AKIA1'\nexport AWS_SECRET_ACCESS_KEY='se/cret+'\n# "+connection+"\n")
	checkEqual(t, "stderr", got.err, "On another machine `pinion login -` asks for the line that begins with pinion://, without the #.\nThe secret cannot be shown again. `pinion env` prints the endpoint and the CA.\n")
	checkEqual(t, "asked", h.bodies["admin/keys"], `{"role":"read","cluster":"lab"}`)
	checkEqual(t, "json", pinion(t, h, "-o", "json", "keys", "create", "--role", "read").out, `{
  "accessKeyId": "AKIA1",
  "secretAccessKey": "se/cret+",
  "role": "read",
  "cluster": "lab",
  "connection": "`+connection+`"
}
`)
}

// A string with an address that no other machine reaches is said to be one.
func TestAConnectionStringForThisMachineAloneIsSaidToBeOne(t *testing.T) {
	h := newFakeHost(t)
	h.operations["admin/keys"] = always(`{"accessKeyId":"AKIA1","secretAccessKey":"s","role":"read"}`)
	servesItsAddress(h)
	h.documents["/v1/hosts"] = serveDocument(`[{"id":"0123","address":"127.0.0.1:7400"}]`)
	if got := pinion(t, h, "key", "create", "--role", "read"); !strings.Contains(got.out, "@127.0.0.1:7400") || !strings.Contains(got.err, "--advertise") || strings.Contains(got.err, "On another machine") {
		t.Errorf("%+v", got)
	}
}

const someFingerprint = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// servesItsAddress has the fake host say where other machines reach it, and which CA it is of.
func servesItsAddress(h *fakeHost) {
	h.documents["/v1/admin/ca"] = serveDocument(`{"roots":[{"fingerprint":"` + someFingerprint + `","signs":true}]}`)
	h.documents["/v1/version"] = serveDocument(`{"version":"1","hostId":"0123"}`)
	h.documents["/v1/hosts"] = serveDocument(`[{"id":"4567","address":"10.0.0.2:7400"},{"id":"0123","address":"10.0.0.1:7400"}]`)
}

func TestKeysAreListedAndRemoved(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/admin/keys"] = serveDocument(`[{"id":"AKIA1","role":"admin","hostId":"0123456789abcdef0123456789abcdef","createdAt":"2025-05-30T12:00:00Z"},
		{"id":"AKIA2","name":"ci","role":"submit","cluster":"lab,night","createdAt":"2025-06-01T11:00:00Z","teams":["vision","speech"],"maxPriority":0,"maxTasks":100,
		"maxWaiting":50,"maxGpus":0,"maxRevisions":9,"requestsPerSecond":20,"inUse":{"tasks":3,"waiting":1,"gpus":0,"revisions":2}}]`)
	h.operations["admin/keys/remove"] = always("{}")
	checkEqual(t, "keys ls", pinion(t, h, "keys", "ls").out, `
ID     ROLE    CLUSTER    TEAM           AGE  USE            LIMITS
AKIA1  admin   all                       2d   host 01234567
AKIA2  submit  lab,night  vision,speech  60m  ci             tasks 3/100, waiting 1/50, gpus 0/0, revisions 2/9, priority 0, 20 requests/s
`[1:])
	checkEqual(t, "keys rm", pinion(t, h, "keys", "rm", "AKIA2", "AKIA1").out, "AKIA2\nAKIA1\n")
	if h.callCount("admin/keys/remove") != 2 {
		t.Error("a key was not removed")
	}
}

func TestTheSealingKeyIsReplaced(t *testing.T) {
	h := newFakeHost(t)
	h.operations["admin/sealing/rotate"] = always("{}")
	asked := 0
	h.documents["/v1/admin/sealing"] = func(http.ResponseWriter) any {
		asked++
		return map[string]any{"key": "0123456789abcdef", "left": max(0, 2-asked)}
	}
	got := pinion(t, h, "keys", "rotate")
	checkEqual(t, "stdout", got.out, "0123456789abcdef\n")
	if asked != 2 || h.callCount("admin/sealing/rotate") != 1 {
		t.Errorf("asked %d times how far it is", asked)
	}
}

func TestAKeyIsMadeWithItsLimits(t *testing.T) {
	h := newFakeHost(t)
	h.operations["admin/keys"] = always(`{"accessKeyId":"AKIA1","secretAccessKey":"s","role":"submit"}`)
	got := pinion(t, h, "keys", "create", "--name", "ci", "--role", "submit", "--cluster", "lab,night", "--team", "vision", "--team", "speech", "--max-priority", "0", "--max-tasks", "9",
		"--max-waiting", "8", "--max-gpus", "0", "--max-revisions", "7", "--max-requests", "6")
	if !strings.Contains(got.err, "There is no connection string for it: ") {
		t.Errorf("without an address: %s", got.err)
	}
	checkEqual(t, "asked", h.bodies["admin/keys"], `{"name":"ci","role":"submit","cluster":"lab,night","teams":["vision","speech"],"maxPriority":0,"maxTasks":9,"maxWaiting":8,"maxGpus":0,"maxRevisions":7,"requestsPerSecond":6}`)
	h.operations["admin/keys"] = always(`{"accessKeyId":"AKIA1","secretAccessKey":"s","role":"submit","cluster":"lab,night"}`)
	if got := pinion(t, h, "keys", "create", "--role", "submit", "--cluster", "lab,night"); !strings.Contains(got.err, "Those of keys for all clusters it does not see, unless their tag pinion.share names a cluster of it: pinion.share=lab.") {
		t.Errorf("what it does not see: %s", got.err)
	}
	if got := pinion(t, h, "keys", "create", "--role", "submit", "--max-tasks", "0"); got.code != exit.Usage {
		t.Errorf("no tasks: %d %s", got.code, got.err)
	}
}

func TestLimitsOfThePoolAreShownAndChanged(t *testing.T) {
	h := newFakeHost(t)
	const limits = `{"tasks":{"limit":1000000,"used":12},"waiting":{"limit":500000,"used":3},"revisions":{"limit":100000,"used":40},"revisionsOfFamily":{"limit":10000}}`
	h.documents["/v1/admin/limits"] = serveDocument(limits)
	h.operations["admin/limits"] = always(limits)
	const shown = `
LIMIT                USED  AT MOST
tasks                12    1000000
waiting              3     500000
revisions            40    100000
revisions-of-family  -     10000
`
	checkEqual(t, "limits", pinion(t, h, "limits").out, shown[1:])
	checkEqual(t, "changed", pinion(t, h, "limits", "--waiting", "800000", "--revisions-of-family", "5").out, shown[1:])
	checkEqual(t, "asked", h.bodies["admin/limits"], `{"revisionsOfFamily":5,"waiting":800000}`)
	if got := pinion(t, h, "limits", "--tasks", "0"); got.code != exit.Usage {
		t.Errorf("no tasks: %d %s", got.code, got.err)
	}
}

func TestTheAuditLogIsShown(t *testing.T) {
	h, dir := newFakeHost(t), t.TempDir()
	log, err := audit.Open(filepath.Join(dir, "audit"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	log.Record(audit.Line{Outcome: audit.Refused, Principal: "arn:aws:iam::123456789012:user/AKIA1", KeyName: "ci", Address: "192.0.2.1:5", Operation: "RunTask", Error: "AccessDeniedException", Message: "no"})
	log.Record(audit.Line{Outcome: audit.Done, Principal: "arn:aws:iam::123456789012:root", Address: "socket", Operation: "CreateCluster"})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	got := pinion(t, h, "audit", "--data-dir", dir)
	for _, text := range []string{"refused  ci (AKIA1)  192.0.2.1:5  RunTask              AccessDeniedException: no", "done     root        socket       CreateCluster"} {
		if !strings.Contains(got.out, text) {
			t.Errorf("%q is missing: %s%s", text, got.out, got.err)
		}
	}
	if lines := strings.Count(pinion(t, h, "audit", "--data-dir", dir, "-o", "json").out, `"outcome"`); lines != 2 {
		t.Errorf("%d lines of JSON", lines)
	}
}

func TestAKeyNeedsARole(t *testing.T) {
	h := newFakeHost(t)
	for _, arguments := range [][]string{{"keys", "create"}, {"keys", "create", "--role", "root"}, {"keys", "rm"}, {"keys", "mint"}} {
		if got := pinion(t, h, arguments...); got.code != exit.Usage {
			t.Errorf("%q: %d %s", arguments, got.code, got.err)
		}
	}
}
