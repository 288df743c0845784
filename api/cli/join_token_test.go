package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheJoinTokenComesFromAFileOrStandardInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("pinion1.a.b.c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, u := range map[string]*UpConfig{"a file": {JoinTokenFile: file}, "standard input": {JoinTokenFile: "-"}} {
		if err := u.readJoinToken(strings.NewReader(" pinion1.a.b.c \n")); err != nil || u.JoinToken != "pinion1.a.b.c" {
			t.Errorf("%s: %q, %v", name, u.JoinToken, err)
		}
	}
	for name, u := range map[string]*UpConfig{
		"no such file": {JoinTokenFile: file + "-"}, "an empty input": {JoinTokenFile: "-"}, "two tokens": {JoinTokenFile: file, JoinToken: "pinion1.d.e.f"},
	} {
		if err := u.readJoinToken(strings.NewReader("")); err == nil {
			t.Errorf("%s: %q", name, u.JoinToken)
		}
	}
}

// Everybody on the machine can list the arguments of a process for as long as it lives.
func TestATokenGivenAsArgumentIsNotInTheListOfProcesses(t *testing.T) {
	const secret = "pinion1.a.b.secret"
	if os.Getenv("PINION_TEST_ARGUMENTS") != "" {
		u := UpConfig{JoinToken: secret}
		if err := u.readJoinToken(nil); err != nil || u.JoinToken != strings.Join([]string{"pinion1", "a", "b", "secret"}, ".") {
			t.Fatalf("%q, %v", u.JoinToken, err)
		}
		line, err := os.ReadFile("/proc/self/cmdline")
		if err != nil || strings.Contains(string(line), "secret") || !strings.Contains(string(line), "--token=xxx") {
			t.Fatalf("%q, %v", line, err)
		}
		return
	}
	for _, arguments := range [][]string{{"--token", secret, "--token=" + secret}} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-test.run=^" + t.Name() + "$", "--"}, arguments...)...)
		cmd.Env = append(os.Environ(), "PINION_TEST_ARGUMENTS=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
