package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asPinion makes this test binary the program, for scripts of shells.
const asPinion = "PINION_TEST_IS_PINION"

func TestMain(m *testing.M) {
	if os.Getenv(asPinion) != "" {
		os.Exit(Main(context.Background(), Program{Version: "0.1.0", patience: time.Minute}, append([]string{"pinion"}, os.Args[1:]...)))
	}
	os.Exit(m.Run())
}

// nasty is a name that would do something if a shell read it.
const nasty = "evil $(touch pwned) `touch pwned` '; touch pwned' \"$HOME\" *"

// completionShell prepares a directory for a shell: a pinion that completes, and otherwise writes down what it was called with.
func completionShell(t *testing.T, h *fakeHost) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	pinion := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = __complete ] && %s=1 exec %s \"$@\"\nprintf '%%s|' \"$@\" >> %s/called\n", asPinion, os.Args[0], dir)
	if err := os.WriteFile(filepath.Join(dir, "pinion"), []byte(pinion), 0o755); err != nil {
		t.Fatal(err)
	}
	for shell, file := range map[string]string{"bash": "bashrc", "zsh": ".zshrc", "fish": "pinion.fish"} {
		before := map[string]string{"bash": "PS1='> '\nbind 'set enable-bracketed-paste off'\n", "zsh": "PS1='> '; autoload -Uz compinit; compinit -uD\n"}[shell]
		script := printed(t, "completion", shell)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(before+script), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "ZDOTDIR=" + dir, "TERM=dumb", "PINION_DATA_DIR=" + h.dir, "LC_ALL=C.UTF-8"}
}

// printed is what a command line prints that has to succeed.
func printed(t *testing.T, arguments ...string) string {
	t.Helper()
	got := pinion(t, nil, arguments...)
	if got.code != 0 {
		t.Fatalf("pinion %s: %+v", strings.Join(arguments, " "), got)
	}
	return got.out
}

// typeInto types lines into an interactive shell at a terminal, and waits until the shell has ended.
func typeInto(t *testing.T, dir string, env []string, lines string, shell ...string) {
	t.Helper()
	person, terminal := terminals(t)
	command := exec.CommandContext(t.Context(), shell[0], shell[1:]...)
	command.Dir, command.Env = dir, env
	command.Stdin, command.Stdout, command.Stderr = terminal, terminal, terminal
	command.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	var shown strings.Builder
	go func() { person.WriteString(lines) }()
	for buffer := make([]byte, 4096); ; {
		n, err := person.Read(buffer)
		shown.Write(buffer[:n])
		if err != nil { // the shell has ended
			break
		}
	}
	if err := command.Wait(); err != nil {
		t.Errorf("%s: %v", shell[0], err)
	}
	t.Logf("%s", shown.String())
}

// A name of the pool that would do something in a shell is completed, and does nothing: neither when it is completed nor when the line is
// carried out. The command gets the name as it is.
func TestShellsCompleteNamesAndRunNothingOfThem(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/teams"] = serveDocument(fmt.Sprintf(`[{"name":%q},{"name":"vision"}]`, nasty))
	for name, shell := range map[string][]string{"bash": {"bash", "--noprofile", "--rcfile", "bashrc", "-i"}, "zsh": {"zsh", "-i"}} {
		t.Run(name, func(t *testing.T) {
			dir, env := completionShell(t, h)
			typeInto(t, dir, env, "pinion team rm ev\t\npinion team rm \"ev\t\npinion team rm 'ev\t\npinion run --team=vis\t\npinion que\t\nexit\n", shell...)
			checkCalled(t, dir, "team|rm|"+nasty+"|team|rm|"+nasty+"|team|rm|"+nasty+"|run|--team=vision|queue|")
		})
	}
	t.Run("fish", func(t *testing.T) {
		dir, env := completionShell(t, h)
		script := "source pinion.fish\nfor line in 'pinion team rm ev' 'pinion run --team=vis' 'pinion que'\n" +
			"set -l offer (string split -f 1 \\t -- (complete -C $line))\neval (string replace -r '\\S+$' '' -- $line)(string escape -- $offer)\nend"
		command := exec.CommandContext(t.Context(), "fish", "--no-config", "-c", script)
		command.Dir, command.Env = dir, env
		if out, err := command.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v: %s", err, out)
		}
		checkCalled(t, dir, "team|rm|"+nasty+"|run|--team=vision|queue|")
	})
}

// checkCalled compares what pinion was called with, and that nothing else was run.
func checkCalled(t *testing.T, dir, want string) {
	t.Helper()
	called, err := os.ReadFile(filepath.Join(dir, "called"))
	if err != nil {
		t.Error(err)
	}
	checkEqual(t, "calls of pinion", string(called), want)
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a shell has run a part of a name")
	}
}

// terminals are the two ends of a terminal: what a person types at, and what a program reads.
func terminals(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetUint32(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}
