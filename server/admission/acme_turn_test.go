package admission

import (
	"testing"
	"time"
)

// clockOnly is a server of which the turns need the clock alone.
type clockOnly struct {
	Server
	now time.Time
}

func (c *clockOnly) Now() time.Time { return c.now }

// A host that asks again and again, and orders nothing, has the turn no more often than the others that ask.
func TestNoHostKeepsTheTurnToOrderACertificate(t *testing.T) {
	clock := &clockOnly{now: time.Unix(1_800_000_000, 0)}
	cache := &ACMECache{Keys: &AccessKeys{Server: clock}}
	hosts := []string{"hostile", "a", "hostile too", "b", "dead"}
	turns := map[string]int{}
	holder := ""
	for second := range 30 * 60 {
		clock.now = clock.now.Add(time.Second)
		for _, host := range hosts {
			if host == "dead" && second > 0 {
				continue // it has asked once
			}
			if cache.begin(host, "a.example.org", turnGrace) == "" && holder != host {
				holder = host
				turns[host]++
			}
		}
	}
	if turns["a"] < 3 || turns["b"] < 3 || turns["hostile"] > turns["a"]+1 {
		t.Errorf("turns in half an hour: %v", turns)
	}
}

// A host that renews a certificate asks once an hour at least, and has its turn, however often another one asks that renews nothing.
func TestNoHostKeepsTheTurnToRenewACertificate(t *testing.T) {
	clock := &clockOnly{now: time.Unix(1_800_000_000, 0)}
	cache := &ACMECache{Keys: &AccessKeys{Server: clock}}
	for second := range 3 * 60 * 60 {
		clock.now = clock.now.Add(time.Second)
		cache.begin("hostile", "a.example.org", renewalGrace)
		if second%(59*60) == 60 && cache.begin("renews", "a.example.org", renewalGrace) == "" {
			return
		}
	}
	t.Error("it had no turn in three hours")
}
