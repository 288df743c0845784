package cli

import "testing"

func TestAKeyIsPrintedSoThatAShellCanTakeIt(t *testing.T) {
	d := openDoor(t)
	d.operations["admin/keys"] = always(`{"accessKeyId":"AKIA1","secretAccessKey":"se/cret+","role":"read","cluster":"lab"}`)
	got := pinion(t, d, "keys", "create", "--role", "read", "--cluster", "lab")
	same(t, "stdout", got.out, "export AWS_ACCESS_KEY_ID='AKIA1'\nexport AWS_SECRET_ACCESS_KEY='se/cret+'\n")
	same(t, "stderr", got.err, "The secret is shown this once. The endpoint and the CA are the ones of `pinion env`.\n")
	same(t, "asked", d.sent["admin/keys"], `{"cluster":"lab","role":"read"}`)
	same(t, "json", pinion(t, d, "-o", "json", "keys", "create", "--role", "read").out, `{
  "accessKeyId": "AKIA1",
  "secretAccessKey": "se/cret+",
  "role": "read",
  "cluster": "lab"
}
`)
}

func TestKeysAreListedAndRemoved(t *testing.T) {
	d := openDoor(t)
	d.documents["/v1/admin/keys"] = page(`[{"id":"AKIA1","role":"admin","hosts":true,"createdAt":"2025-05-30T12:00:00Z"},
		{"id":"AKIA2","role":"read","cluster":"lab","createdAt":"2025-06-01T11:00:00Z"}]`)
	d.operations["admin/keys/remove"] = always("{}")
	same(t, "keys ls", pinion(t, d, "keys", "ls").out, `
ID     ROLE   CLUSTER  AGE  USE
AKIA1  admin  all      2d   pinion env
AKIA2  read   lab      60m
`[1:])
	same(t, "keys rm", pinion(t, d, "keys", "rm", "AKIA2", "AKIA1").out, "AKIA2\nAKIA1\n")
	if d.did("admin/keys/remove") != 2 {
		t.Error("a key was not removed")
	}
}

func TestAKeyNeedsARole(t *testing.T) {
	d := openDoor(t)
	for _, arguments := range [][]string{{"keys", "create"}, {"keys", "create", "--role", "root"}, {"keys", "rm"}, {"keys", "mint"}} {
		if got := pinion(t, d, arguments...); got.code != exitUsage {
			t.Errorf("%q: %d %s", arguments, got.code, got.err)
		}
	}
}
