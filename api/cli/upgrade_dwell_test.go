package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/cli/upgrade"
)

// restarted is a server that is ready with the new program, and then crashes: from the 3rd second on it is away, from the 5th it runs again, and in the 20th it has
// caught up with the leader.
func (u *upgradable) restarted(crashes string) func(string, time.Duration) any {
	return func(host string, since time.Duration) any {
		switch {
		case host != crashes || u.has[host].Last == nil || since < 3*time.Second:
			return nil
		case since < 5*time.Second:
			return errorReply{503, "ServerException", "host " + host + " cannot be reached"}
		case since < 20*time.Second:
			return u.says(host, since-5*time.Second, logIndex-1)
		}
		return u.says(host, since-5*time.Second, logIndex)
	}
}

// A step begins behind one whose hosts have stayed well for the dwell, and, after a crash, once the server has caught up with the leader: with a server that lacks entries
// the pool could lose its majority with the next one.
func TestTheNextServerWaitsForOneThatHasCrashedAgain(t *testing.T) {
	for _, dwell := range []time.Duration{upgrade.DefaultDwell, 30 * time.Second} {
		u := newUpgradable(t, "a1", "s1", "s2", "l")
		u.rests = u.restarted("s1")
		got := u.pinion(t, "--to", u.file, "--all", "--dwell", dwell.String())
		if got.code != 0 || !slices.Equal(u.begun, []string{"a1", "s1", "s2", "l"}) {
			t.Fatalf("begun %v, %+v", u.begun, got)
		}
		for _, c := range []struct {
			host, behind string
			least        time.Duration
		}{{"s1", "a1", dwell}, {"s2", "s1", max(20*time.Second, 5*time.Second+dwell)}, {"l", "s2", dwell}} {
			if waited := u.at[c.host].Sub(u.at[c.behind]); waited < c.least || waited > c.least+2*time.Second {
				t.Errorf("dwell %s: %s begun %s behind %s", dwell, c.host, waited, c.behind)
			}
		}
		if took := u.clock().Sub(u.at["l"]); took < dwell || !strings.Contains(got.err, "s1") {
			t.Errorf("the last one was well for %s, said %q", took, got.err)
		}
	}
}

// A server that crashes again and again stops the upgrade, with its name, though each time it is back soon.
func TestAServerThatCrashesAgainAndAgainStopsTheUpgrade(t *testing.T) {
	u := newUpgradable(t, "a1", "s1", "s2", "l")
	u.rests = func(host string, since time.Duration) any {
		if host != "s1" || u.has[host].Last == nil {
			return nil
		}
		if since %= 8 * time.Second; since >= 7*time.Second {
			return errorReply{503, "ServerException", "host s1 cannot be reached"}
		}
		return u.says(host, since, logIndex)
	}
	if got := u.pinion(t, "--to", u.file, "--all"); got.code != 1 || !slices.Equal(u.begun, []string{"a1", "s1"}) || !strings.Contains(got.err, "stopped") || !strings.Contains(got.err, "s1") {
		t.Errorf("begun %v, %+v", u.begun, got)
	}
}

// Hosts that say neither how long they run nor how far their log is are of earlier versions: the dwell alone counts for them, and the command says so.
func TestVersionsThatDoNotSayHowFarTheyAre(t *testing.T) {
	u := newUpgradable(t, "a1", "s1", "s2", "l")
	u.rests = func(host string, _ time.Duration) any { return *u.has[host] }
	got := u.pinion(t, "--to", u.file, "--all")
	if got.code != 0 || !slices.Equal(u.begun, []string{"a1", "s1", "s2", "l"}) || u.at["s2"].Sub(u.at["s1"]) < upgrade.DefaultDwell || !strings.Contains(got.err, "--dwell") {
		t.Errorf("begun %v, %+v", u.begun, got)
	}
}

// What has the program already, and was started a moment ago, counts as a step of this command: of one that was broken off, say.
func TestACommandThatGoesOnWaitsForTheHostOfTheOneBefore(t *testing.T) {
	u := newUpgradable(t, "a1", "s1", "s2", "l")
	if got := u.pinion(t, "--to", u.file, "--on-host", "s1", "--dwell", "0s"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := u.pinion(t, "--to", u.file, "--all"); got.code != 0 || u.at["a1"].Sub(u.at["s1"]) < upgrade.DefaultDwell {
		t.Errorf("a1 begun %s behind s1: %+v", u.at["a1"].Sub(u.at["s1"]), got)
	}
}
