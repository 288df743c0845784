package doctor

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// The mode of a data directory is mended by a command of the machine, and the check finds nothing any more.
func TestAFindingIsMended(t *testing.T) {
	h := soundHost(t)
	if err := os.Chmod(h.DataDir, 0o755); err != nil {
		t.Fatal(err)
	}
	found := Examine(t.Context(), h)
	if would := Fix(t.Context(), found, nil); len(would) != 1 || would[0].Check != "data directory" || would[0].Command() != "chmod 0711 "+h.DataDir {
		t.Fatalf("%+v", would)
	}
	if Count(Examine(t.Context(), h), Failed) != 1 {
		t.Error("it is mended before any command was run")
	}
	if done := Fix(t.Context(), found, RunCommand); len(done) != 1 || done[0].Error != "" {
		t.Fatalf("%+v", done)
	}
	if again := Examine(t.Context(), h); Count(again, Failed) != 0 {
		t.Errorf("%+v", again)
	}
}

// Every command is run once, whatever became of those before, and what is wrong with it is said.
func TestCommandsAreRunOnceEach(t *testing.T) {
	var ran []string
	done := Fix(t.Context(), []Finding{
		ok("all is well"), failed("a", "b"),
		warning("clock sync", "").fixedBy("timedatectl", "set-ntp", "true"), failed("clock offset", "").fixedBy("timedatectl", "set-ntp", "true"),
		failed("files", "").fixedBy("chmod", "go=", "/var/lib/a b"),
	}, func(_ context.Context, command []string) error {
		ran = append(ran, strings.Join(command, "|"))
		return errors.New("no such command")
	})
	if !slices.Equal(ran, []string{"timedatectl|set-ntp|true", "chmod|go=|/var/lib/a b"}) || len(done) != 2 || done[0].Error == "" || done[1].Command() != "chmod go= '/var/lib/a b'" {
		t.Errorf("%q %+v", ran, done)
	}
	if err := RunCommand(t.Context(), []string{"sh", "-c", "echo broken >&2; exit 3"}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("%v", err)
	}
}

// A data directory holds the files of images and of volumes: no command that mends something walks through it.
func TestNoCommandIsRecursive(t *testing.T) {
	fixes := 0
	for _, c := range lacking {
		h := soundHost(t)
		c.lack(t, h)
		for _, f := range Examine(t.Context(), h) {
			if len(f.Fix) > 0 {
				fixes++
			}
			if slices.ContainsFunc(f.Fix, func(word string) bool { return word == "-R" || word == "--recursive" }) || slices.Contains([]string{"rm", "sh", "bash"}, slices.Concat(f.Fix, []string{""})[0]) {
				t.Errorf("%s: %q", f.Check, f.Fix)
			}
		}
	}
	if fixes < 5 {
		t.Errorf("only %d findings have a command", fixes)
	}
}

// A directory that others own, or may have changed, may hold keys of theirs: no command makes it one that a host uses.
func TestADirectoryOfOthersIsNotAdopted(t *testing.T) {
	for _, change := range []func(*Host) error{
		func(h *Host) error { return os.Chmod(h.DataDir, 0o777) },
		func(h *Host) error { return os.Chmod(h.DataDir, 0o731) },
		func(h *Host) error { h.Machine.User = func() int { return os.Geteuid() + 1 }; return nil },
	} {
		h := soundHost(t)
		if err := change(h); err != nil {
			t.Fatal(err)
		}
		found := slices.DeleteFunc(Examine(t.Context(), h), func(f Finding) bool { return f.Check != "data directory" })
		if len(found) != 1 || found[0].Level != Failed || found[0].Do == "" || found[0].Fix != nil {
			t.Errorf("%+v", found)
		}
	}
}
