package dispatch

import "testing"

func TestAServerKeepsTwiceItsShareOfTheHosts(t *testing.T) {
	for _, c := range []struct {
		name                    string
		sessions, hosts, voters int
		sends                   bool
	}{
		{"its share", 333, 1000, 3, false},
		{"one of two that are left", 520, 1000, 3, false},
		{"all, after the others were restarted", 962, 1000, 3, true},
		{"all of a small pool", 8, 12, 3, false},
		{"all, and it is the only server", 999, 1000, 1, false},
		{"half of them, one of five servers", 500, 1000, 5, true},
	} {
		if got := c.sessions > sessionLimit(c.hosts, c.voters); got != c.sends {
			t.Errorf("%s: a server with %d of %d hosts sends some away: %v", c.name, c.sessions, c.hosts, got)
		}
	}
}

func TestAnOverloadedServerSendsOneHostAwayAtATimeUntilItIsNot(t *testing.T) {
	var c sessionBalancer
	for range 10 {
		c.add(1)
	}
	now := day0
	sent := 0
	for range 1000 { // ten beats each second, of whatever host
		now = now.Add(moveInterval / 10)
		if c.shouldMove(now, func() int { return 7 }) {
			c.add(-1)
			sent++
		}
		if most := int(now.Sub(day0)/moveInterval) + 1; sent > most {
			t.Fatalf("%d hosts were sent away in %v", sent, now.Sub(day0))
		}
	}
	if c.sessions != 7 {
		t.Errorf("%d hosts are left of 10 where 7 may stay", c.sessions)
	}
}
