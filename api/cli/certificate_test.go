package cli

import (
	"strings"
	"testing"
)

func TestCertificatesAreListedAndDropped(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/admin/certificates"] = serveDocument([]map[string]any{
		{"name": "account", "kind": "account", "putAt": "2026-11-01T00:00:00Z"}, {"name": "www.example.org", "kind": "certificate", "putAt": "2026-11-01T00:00:00Z"},
	})
	h.operations["admin/certificates/remove"] = always(map[string]any{})
	if got := pinion(t, h, "certificate", "ls", "-q"); got.out != "account\nwww.example.org\n" {
		t.Errorf("%q %s", got.out, got.err)
	}
	if got := pinion(t, h, "certificates"); !strings.Contains(got.out, "www.example.org") || !strings.Contains(got.out, "KIND") {
		t.Errorf("%q %s", got.out, got.err)
	}
	if got := pinion(t, h, "certificate", "rm", "www.example.org", "account"); got.code != 0 || got.out != "www.example.org\naccount\n" {
		t.Errorf("%q %s", got.out, got.err)
	}
	if got := pinion(t, h, "certificate", "rm"); got.code != 2 {
		t.Errorf("without a name: %d %s", got.code, got.err)
	}
}
