package containerd_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTheChecklistIsOfThisContainerd fails at a bump of containerd until the checklist in DESIGN.md was gone through.
func TestTheChecklistIsOfThisContainerd(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "github.com/containerd/containerd/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	notes, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "Checked with containerd " + strings.TrimSpace(string(out)) + "."; !strings.Contains(string(notes), want) {
		t.Errorf("DESIGN.md does not say %q: go through its list of what rests on containerd's internals, then change that line", want)
	}
}
