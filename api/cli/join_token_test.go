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
	for name, u := range map[string]*UpConfig{"a file": {TokenFile: file}, "standard input": {TokenFile: "-"}} {
		if err := u.readToken(strings.NewReader(" pinion1.a.b.c \n")); err != nil || u.Token != "pinion1.a.b.c" {
			t.Errorf("%s: %q, %v", name, u.Token, err)
		}
	}
	for name, u := range map[string]*UpConfig{
		"no such file": {TokenFile: file + "-"}, "an empty input": {TokenFile: "-"}, "two tokens": {TokenFile: file, Token: "pinion1.d.e.f"},
	} {
		if err := u.readToken(strings.NewReader("")); err == nil {
			t.Errorf("%s: %q", name, u.Token)
		}
	}
}

// Everybody on the machine can list the arguments of a process for as long as it lives.
func TestATokenGivenAsArgumentIsNotInTheListOfProcesses(t *testing.T) {
	const secret = "pinion1.a.b.secret"
	if os.Getenv("PINION_TEST_ARGUMENTS") != "" {
		u := UpConfig{Token: secret}
		if err := u.readToken(nil); err != nil || u.Token != strings.Join([]string{"pinion1", "a", "b", "secret"}, ".") {
			t.Fatalf("%q, %v", u.Token, err)
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
