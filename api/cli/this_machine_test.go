package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/unlock"
)

// neverCalled is a program whose commands about this machine say that they were run.
func neverCalled(t *testing.T) Program {
	p := fullProgram
	p.Up = func(context.Context, UpConfig) error { t.Error("up acted on this machine"); return nil }
	p.Down = func(context.Context, DownConfig) (int, error) { t.Error("down acted on this machine"); return 0, nil }
	p.Unlock = func(context.Context, unlock.Config) error { t.Error("unlock acted on this machine"); return nil }
	p.Restore = func(context.Context, OfflineHost, string) error { t.Error("restore acted on this machine"); return nil }
	p.Recover = func(context.Context, OfflineHost) error { t.Error("recover acted on this machine"); return nil }
	return p
}

// Who names another host and says `down` thinks of that one: this machine is not touched.
func TestCommandsAboutThisMachineRefuseAnotherHost(t *testing.T) {
	h := newFakeHost(t)
	if err := os.WriteFile(filepath.Join(h.dir, "kept"), []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := []string{"up", "down", "down --purge --force", "leave --force", "doctor", "audit", "pool audit", "unlock set --unlock file:kept", "recover", "snapshot restore kept", "pool snapshot restore kept"}
	ways := map[string]func(*testing.T, string) []string{
		"--host":    func(_ *testing.T, line string) []string { return strings.Fields(line + " --host gpu-7") },
		"--context": func(_ *testing.T, line string) []string { return strings.Fields("--context lab " + line) },
		"PINION_HOST": func(t *testing.T, line string) []string {
			t.Setenv("PINION_HOST", "gpu-7")
			return strings.Fields(line)
		},
		"PINION_CONTEXT": func(t *testing.T, line string) []string {
			t.Setenv("PINION_CONTEXT", "lab")
			return strings.Fields(line)
		},
	}
	for way, words := range ways {
		t.Run(way, func(t *testing.T) {
			for _, line := range lines {
				got := pinionWith(t, neverCalled(t), h, words(t, line)...)
				if got.code != exit.Usage || !strings.Contains(got.err, "this machine") {
					t.Errorf("%s: %+v", line, got)
				}
			}
		})
	}
	if text, err := os.ReadFile(filepath.Join(h.dir, "kept")); err != nil || string(text) != "as it was" {
		t.Errorf("%s, %v", text, err)
	}
}

// With a login, the other commands go to the host of the login; an explicit --data-dir means this machine.
func TestDownAndLeaveRefuseWhereALoginNamesTheHost(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat(filepath.Join(invocation.DefaultDataDir, "pinion.sock")); err == nil {
		t.Skip("a host runs here")
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for name, expires := range map[string]time.Time{"valid": testTime.Add(time.Hour), "expired": testTime.Add(-time.Hour)} {
		login := invocation.Login{Host: "gpu-7:7400", Person: "ada", KeyID: "AKIAX", Secret: "x", Expires: expires}
		if err := login.Save(invocation.DefaultContext, nil); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"down --force", "leave --force"} {
			p := neverCalled(t)
			p.system.Now = func() time.Time { return testTime }
			err := runLine(t.Context(), New(p), append([]string{"pinion"}, strings.Fields(line)...))
			if refused, is := err.(*exit.Error); !is || refused.Code != exit.Usage {
				t.Errorf("%s, %s: %v", name, line, err)
			}
		}
	}
	var asked []string
	p := Program{Down: func(_ context.Context, c DownConfig) (int, error) { asked = append(asked, c.DataDir); return 0, nil }}
	if got := pinionWith(t, p, nil, "down"); got.code != 0 || len(asked) != 1 {
		t.Errorf("with --data-dir: %+v, %v", got, asked)
	}
}
