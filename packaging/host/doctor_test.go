package host

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"pinion/api/cli"
	"pinion/packaging/doctor"
)

// What another host says of its GPUs, and how it is called, steers no terminal of the administrator who looks.
func TestAFindingControlsNoTerminal(t *testing.T) {
	found := []doctor.Finding{{Level: doctor.Warning, Check: "pool", Found: "host a\x1b[2J\u009b31m\u202e is unreachable", Do: "`pinion hosts rm a\x1b[2J`"}}
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		repairs := []doctor.Repair{{Finding: doctor.Finding{Fix: []string{"chmod", "0711", "/a\x1b[2J"}}, Error: "\x1b[31mno"}}
		if err := printFindings(&out, found, repairs, cli.DoctorConfig{JSON: asJSON, Fix: true}); err != nil {
			t.Fatal(err)
		}
		shown := strings.ReplaceAll(out.String(), "\n", "")
		if !strings.Contains(shown, "is unreachable") || strings.ContainsFunc(shown, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Errorf("%q", shown)
		}
	}
}
