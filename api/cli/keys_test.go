package cli

import (
	"testing"

	"pinion/api/cli/exit"
)

func TestAKeyIsPrintedSoThatAShellCanTakeIt(t *testing.T) {
	h := newFakeHost(t)
	h.operations["admin/keys"] = always(`{"accessKeyId":"AKIA1","secretAccessKey":"se/cret+","role":"read","cluster":"lab"}`)
	got := pinion(t, h, "keys", "create", "--role", "read", "--cluster", "lab")
	checkEqual(t, "stdout", got.out, "export AWS_ACCESS_KEY_ID='AKIA1'\nexport AWS_SECRET_ACCESS_KEY='se/cret+'\n")
	checkEqual(t, "stderr", got.err, "The secret cannot be shown again. `pinion env` prints the endpoint and the CA.\n")
	checkEqual(t, "asked", h.bodies["admin/keys"], `{"cluster":"lab","role":"read"}`)
	checkEqual(t, "json", pinion(t, h, "-o", "json", "keys", "create", "--role", "read").out, `{
  "accessKeyId": "AKIA1",
  "secretAccessKey": "se/cret+",
  "role": "read",
  "cluster": "lab"
}
`)
}

func TestKeysAreListedAndRemoved(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/admin/keys"] = serveDocument(`[{"id":"AKIA1","role":"admin","hosts":true,"createdAt":"2025-05-30T12:00:00Z"},
		{"id":"AKIA2","role":"read","cluster":"lab","createdAt":"2025-06-01T11:00:00Z"}]`)
	h.operations["admin/keys/remove"] = always("{}")
	checkEqual(t, "keys ls", pinion(t, h, "keys", "ls").out, `
ID     ROLE   CLUSTER  AGE  USE
AKIA1  admin  all      2d   pinion env
AKIA2  read   lab      60m
`[1:])
	checkEqual(t, "keys rm", pinion(t, h, "keys", "rm", "AKIA2", "AKIA1").out, "AKIA2\nAKIA1\n")
	if h.callCount("admin/keys/remove") != 2 {
		t.Error("a key was not removed")
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
