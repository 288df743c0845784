package cli

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/configfile"
)

// TestTheExampleOfOptionsHasEachOfThem takes the comment sign from each option of the example: all are those of the file, none is missing.
func TestTheExampleOfOptionsHasEachOfThem(t *testing.T) {
	up := New(fullProgram).Command("up")
	example := configfile.Example(up.Flags)
	has := map[string]bool{}
	for line := range strings.Lines(example) {
		if name, _, found := strings.Cut(strings.TrimPrefix(line, "#"), ":"); found && !strings.HasPrefix(line, "# ") {
			has[name] = true
		}
		if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
			t.Errorf("%q is set: whoever installs the example has it", line)
		}
	}
	for _, flag := range up.Flags {
		name := flag.Names()[0]
		if why := configfile.Refused(name); has[name] != (why == "") {
			t.Errorf("%s: in the example %t, refused in a file %q", name, has[name], why)
		}
	}
}

func TestTheManualPageHasEachCommand(t *testing.T) {
	page := pinionWith(t, fullProgram, nil, "reference", "man").out
	var check func(commands []*cli.Command, above string)
	check = func(commands []*cli.Command, above string) {
		for _, c := range commands {
			if name := above + " " + c.Name; !c.Hidden && c.Name != "help" {
				if !strings.Contains(page, "\n.SS "+strings.ReplaceAll(name, "-", `\-`)) {
					t.Errorf("the page has no %s", name)
				}
				check(c.Subcommands, name)
			}
		}
	}
	check(New(fullProgram).Commands, "pinion")
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc (Debian: mandoc), which checks the page, is not on this machine")
	}
	lint := exec.Command(mandoc, "-T", "lint", "-W", "warning")
	lint.Stdin = strings.NewReader(page)
	if out, err := lint.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("mandoc: %v\n%s", err, out)
	}
}
