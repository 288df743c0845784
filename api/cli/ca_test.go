package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// caDocument is what a pool answers about its CA, after hosts have been left so often.
func caDocument(rotating, forced bool, left string) string {
	return fmt.Sprintf(`{"roots":[{"fingerprint":"%s","since":"2026-01-02T00:00:00Z","expires":"2036-01-02T00:00:00Z","signs":true,"certificate":"NEW\n"},
		{"fingerprint":"%s","since":"2025-01-02T00:00:00Z","expires":"2035-01-02T00:00:00Z","signs":false,"clientsUntil":"2026-02-02T12:00:00Z","certificate":"OLD\n"}],
		"rotating":%t,"forced":%t,"left":[%s]}`, strings.Repeat("ab", 32), strings.Repeat("cd", 32), rotating, forced, left)
}

func TestTheCAIsRotatedAndTheProgressIsTold(t *testing.T) {
	h := newFakeHost(t)
	h.operations["admin/ca/rotate"] = always("{}")
	asked := 0
	h.documents["/v1/admin/ca"] = func(w http.ResponseWriter) any {
		asked++
		return serveDocument(caDocument(asked == 2, false, `{"id":"1","name":"gpu-7","connected":true}`))(w)
	}
	got := pinion(t, h, "ca", "rotate")
	checkEqual(t, "stdout", got.out, strings.Repeat("ab", 32)+"\n")
	if asked != 3 || h.bodies["admin/ca/rotate"] != `{"force":false}` || !strings.Contains(got.err, "gpu-7") || !strings.Contains(got.err, "pinion ca get") {
		t.Errorf("asked %d times; sent %s; said %s", asked, h.bodies["admin/ca/rotate"], got.err)
	}
	pinion(t, h, "ca", "rotate", "--force")
	checkEqual(t, "forced", h.bodies["admin/ca/rotate"], `{"force":true}`)
}

// Nobody has to wait for a host that is off.
func TestARotationThatWaitsForHostsThatAreOffSaysSo(t *testing.T) {
	h := newFakeHost(t)
	h.operations["admin/ca/rotate"] = always("{}")
	h.documents["/v1/admin/ca"] = serveDocument(caDocument(true, false, `{"id":"1","name":"gpu-7","connected":false}`))
	if got := pinion(t, h, "ca", "rotate"); !strings.Contains(got.err, "gpu-7 (not connected)") || !strings.Contains(got.err, "--force") {
		t.Errorf("said %s", got.err)
	}
}

// Whoever forces a rotation is told which hosts it did not wait for: nothing names them later.
func TestAForcedRotationNamesTheHostsThatItCutsOff(t *testing.T) {
	const away, late, renewed = `{"id":"1","name":"gpu-7","connected":false}`, `{"id":"1","name":"gpu-7","connected":true}`, `{"id":"2","name":"gpu-8","connected":true}`
	for name, c := range map[string]struct{ before, meanwhile, after string }{
		"of a new rotation":             {caDocument(false, false, ""), caDocument(true, true, away+","+renewed), caDocument(false, false, "")},
		"of a host that has just ended": {caDocument(false, false, ""), caDocument(true, true, late+","+renewed), caDocument(false, false, "")},
		"of one that waits":             {caDocument(true, false, away), caDocument(false, false, ""), caDocument(false, false, "")},
		"of one that waits for others":  {caDocument(true, false, away+","+renewed), caDocument(true, true, away), caDocument(false, false, "")},
	} {
		h, asked := newFakeHost(t), 0
		h.operations["admin/ca/rotate"] = always("{}")
		h.documents["/v1/hosts"] = serveDocument("[" + away + "," + renewed + "]")
		h.documents["/v1/admin/ca"] = func(w http.ResponseWriter) any {
			asked++
			return serveDocument([]string{c.before, c.meanwhile, c.after}[min(asked, 3)-1])(w)
		}
		got := pinion(t, h, "ca", "rotate", "--force")
		_, cut, said := strings.Cut(got.err, "Cut off: ")
		cut, _, _ = strings.Cut(cut, "\n")
		if !said || !strings.Contains(cut, "gpu-7") || strings.Contains(cut, "gpu-8") || !strings.Contains(cut, "pinion token") {
			t.Errorf("%s: said %s", name, got.err)
		}
	}
}

func TestTheRootsOfTheCAAreShown(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/admin/ca"] = serveDocument(caDocument(true, false, `{"id":"1","name":"gpu-7","connected":true}`))
	checkEqual(t, "ls", pinion(t, h, "ca", "ls").out, `
ROOT              SINCE       EXPIRES     HOSTS                CLIENTS
abababababababab  2026-01-02  2036-01-02  yes                  yes
cdcdcdcdcdcdcdcd  2025-01-02  2035-01-02  until 1 are renewed  until 2026-02-02
`[1:])
	checkEqual(t, "get", pinion(t, h, "ca", "get").out, "NEW\nOLD\n")
	h.documents["/v1/admin/ca"] = serveDocument(caDocument(false, false, ``))
	checkEqual(t, "get afterwards", pinion(t, h, "ca", "get").out, "NEW\n")
}
