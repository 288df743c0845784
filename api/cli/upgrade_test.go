package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/api/upgrade"
)

// fakeUpgrades is the host of this machine, as `pinion upgrade` sees it.
type fakeUpgrades struct {
	asked   []upgrade.Config
	attempt *upgrade.Attempt
	err     error
}

var _ upgrade.Host = (*fakeUpgrades)(nil)

func (f *fakeUpgrades) Upgrade(_ context.Context, c upgrade.Config) (upgrade.Attempt, error) {
	f.asked = append(f.asked, upgrade.Config{File: c.File, Signature: c.Signature, Timeout: c.Timeout, DryRun: c.DryRun})
	return *f.attempt, f.err
}

func (f *fakeUpgrades) Status(string) (*upgrade.Attempt, error) { return f.attempt, f.err }
func (f *fakeUpgrades) Guard(context.Context, string) error     { return f.err }

func TestUpgradeExchangesTheProgramOfThisMachine(t *testing.T) {
	done := &upgrade.Attempt{State: upgrade.Confirmed, Binary: "/usr/local/bin/pinion", From: upgrade.Release{Version: "1.0"}, To: upgrade.Release{Version: "1.1"}, At: testTime}
	for line, want := range map[string]upgrade.Config{
		"upgrade --to ./new":               {File: "./new", Timeout: time.Minute},
		"upgrade --to ./new --dry-run":     {File: "./new", Timeout: time.Minute, DryRun: true},
		"upgrade --timeout 5m --to ./new":  {File: "./new", Timeout: 5 * time.Minute},
		"upgrade rollback":                 {Timeout: time.Minute},
		"upgrade rollback --timeout 2m30s": {Timeout: 150 * time.Second},
	} {
		f := &fakeUpgrades{attempt: done}
		got := pinionWith(t, Program{Upgrade: f}, newFakeHost(t), strings.Fields(line)...)
		if len(f.asked) != 1 || f.asked[0].File != want.File || f.asked[0].Timeout != want.Timeout || f.asked[0].DryRun != want.DryRun || got.code != 0 || !strings.Contains(got.out, "1.1") {
			t.Errorf("%s: asked %+v, %+v", line, f.asked, got)
		}
	}
	for _, wrong := range []string{"upgrade", "upgrade --to x y", "upgrade --to x --timeout 0s", "upgrade rollback --timeout 1ms", "--host gpu-9 upgrade --to x"} {
		f := &fakeUpgrades{attempt: done}
		if got := pinionWith(t, Program{Upgrade: f}, newFakeHost(t), strings.Fields(wrong)...); got.code != 2 || len(f.asked) > 0 {
			t.Errorf("%s: %+v", wrong, got)
		}
	}
}

// The signature beside the file, or the one that is named, goes with it; one that is named and is not there is an error, not an unsigned upgrade.
func TestUpgradeTakesTheSignatureBesideTheFile(t *testing.T) {
	dir := t.TempDir()
	file, bare := filepath.Join(dir, "pinion"), filepath.Join(dir, "bare")
	for path, text := range map[string]string{file: "", bare: "", file + ".minisig": "beside", filepath.Join(dir, "other"): "named"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"--to", file}, "beside", 0},
		{[]string{"--to", bare}, "", 0},
		{[]string{"--to", bare, "--signature", filepath.Join(dir, "other")}, "named", 0},
		{[]string{"--to", bare, "--signature", filepath.Join(dir, "missing")}, "", 1},
	} {
		f := &fakeUpgrades{attempt: &upgrade.Attempt{State: upgrade.Confirmed, Signed: c.want != ""}}
		got := pinionWith(t, Program{Upgrade: f}, newFakeHost(t), append([]string{"upgrade"}, c.args...)...)
		if got.code != c.code || (len(f.asked) > 0) != (c.code == 0) {
			t.Fatalf("%v: %+v", c.args, got)
		}
		if c.code == 0 && (string(f.asked[0].Signature) != c.want || (f.asked[0].Signature == nil) != (c.want == "") || strings.Contains(got.out, "not signed") != (c.want == "")) {
			t.Errorf("%v: %q, %s", c.args, f.asked[0].Signature, got.out)
		}
	}
}

func TestUpgradeStatusSaysHowTheLastOneEnded(t *testing.T) {
	f := &fakeUpgrades{attempt: &upgrade.Attempt{State: upgrade.RolledBack, From: upgrade.Release{Version: "1.0"}, To: upgrade.Release{Version: "1.1"}, At: testTime, Reason: "1.1 ended"}}
	if got := pinionWith(t, Program{Upgrade: f}, newFakeHost(t), "upgrade", "status"); !strings.HasPrefix(got.out, "ROLLED_BACK") || !strings.Contains(got.out, "1.1 ended") {
		t.Errorf("%+v", got)
	}
	if got := pinionWith(t, Program{Upgrade: f}, newFakeHost(t), "upgrade", "status", "-o", "json"); !strings.Contains(got.out, `"reason": "1.1 ended"`) {
		t.Errorf("%+v", got)
	}
	for _, f := range []*fakeUpgrades{{}, {err: errors.New("a damaged record")}} {
		if got := pinionWith(t, Program{Upgrade: f}, newFakeHost(t), "upgrade", "status"); got.out != "" || got.err == "" || (got.code == 0) != (f.err == nil) {
			t.Errorf("%+v", got)
		}
	}
}
