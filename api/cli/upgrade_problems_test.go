package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/upgrade"
)

// breaks gives a host another program that its GPUs do not work with.
func (u *upgradable) breaks(host, problem string) {
	begin := u.operations["admin/hosts/"+host+"/upgrade"]
	u.operations["admin/hosts/"+host+"/upgrade"] = func(in map[string]any) any {
		answer := begin(in)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.sick[host] = problem
		return answer
	}
}

// What was wrong with a host before its upgrade stops nothing, in this command or a later one. What has come with the new program stops this one and every later
// one, until it is mended: the host's own record tells them apart, for a command remembers nothing.
func TestOnlyProblemsOfBeforeArePassedOver(t *testing.T) {
	u := newUpgradable(t, "a1", "a2", "s1", "s2", "l")
	u.sick["a1"] = "the driver is gone"
	u.breaks("a2", "the library has no such symbol")
	for _, name := range []string{"the first command", "a rerun", "another rerun"} {
		got := u.pinion(t, "--to", u.file, "--all")
		if got.code != 1 || !slices.Equal(u.begun, []string{"a1", "a2"}) || !strings.Contains(got.err, "a2 is not well: ") || !strings.Contains(got.err, "no such symbol") {
			t.Fatalf("%s: begun %v, %+v", name, u.begun, got)
		}
	}
	if got := u.pinion(t, "--to", u.file, "--on-host", "s1"); got.code != 0 || !slices.Equal(u.begun, []string{"a1", "a2", "s1"}) {
		t.Errorf("the hosts beside it: begun %v, %+v", u.begun, got)
	}
	u.sick["a2"] = ""
	if got := u.pinion(t, "--to", u.file, "--all"); got.code != 0 || !slices.Equal(u.begun, []string{"a1", "a2", "s1", "s2", "l"}) {
		t.Errorf("once it is mended: begun %v, %+v", u.begun, got)
	}
}

// What a record says decides on hosts that have the program already.
func TestTheRecordOfAHostSaysWhichProblemsAreOlder(t *testing.T) {
	for name, c := range map[string]struct {
		last   *upgrade.Attempt
		passed bool
	}{
		"never upgraded":                      {nil, true},
		"by root of the machine":              {&upgrade.Attempt{}, true},
		"the problem was there":               {&upgrade.Attempt{ID: "first", Problems: []string{"GPU 1 is LOST", "its GPUs: the driver is gone"}}, true},
		"another one was there":               {&upgrade.Attempt{ID: "first", Problems: []string{"GPU 1 is LOST"}}, false},
		"there was none":                      {&upgrade.Attempt{ID: "first", Problems: []string{}}, false},
		"an earlier version has not recorded": {&upgrade.Attempt{ID: "first"}, false},
	} {
		u := newUpgradable(t, "a1", "l")
		if got := u.pinion(t, "--to", u.file, "--on-host", "a1"); got.code != 0 {
			t.Fatalf("%s: %+v", name, got)
		}
		if c.last != nil {
			c.last.State, c.last.To, c.last.At = upgrade.Confirmed, u.has["a1"].Running, testTime.Add(-time.Hour)
		}
		u.has["a1"].Last, u.sick["a1"] = c.last, "the driver is gone"
		if got := u.pinion(t, "--to", u.file, "--all"); (got.code == 0) != c.passed || slices.Equal(u.begun, []string{"a1", "l"}) != c.passed {
			t.Errorf("%s: begun %v, %+v", name, u.begun, got)
		}
	}
}
