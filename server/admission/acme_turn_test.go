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
			if cache.begin(host, "a.example.org") == "" && holder != host {
				holder = host
				turns[host]++
			}
		}
	}
	if turns["a"] < 3 || turns["b"] < 3 || turns["hostile"] > turns["a"]+1 {
		t.Errorf("turns in half an hour: %v", turns)
	}
}
