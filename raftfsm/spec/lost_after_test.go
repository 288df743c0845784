package spec

import (
	"strings"
	"testing"
	"time"
)

func TestATaskSaysForHowLongItsHostMayBeSilent(t *testing.T) {
	const pool = time.Minute
	other := Tag{Key: "team", Value: "never"}
	for _, c := range []struct {
		name  string
		tags  []Tag
		after time.Duration
		ever  bool
	}{
		{"nothing: as the pool has it", nil, pool, true},
		{"another tag: the same", []Tag{other}, pool, true},
		{"longer", []Tag{other, {TagLostAfter, "1h30m"}}, 90 * time.Minute, true},
		{"shorter", []Tag{{TagLostAfter, "5s"}}, 5 * time.Second, true},
		{"never", []Tag{{TagLostAfter, "never"}}, 0, false},
	} {
		if err := CheckLostAfter(c.tags); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if after, ever := (&Task{Tags: c.tags}).LostAfter(pool); after != c.after || ever != c.ever {
			t.Errorf("%s: %v, %t", c.name, after, ever)
		}
	}
	for _, value := range []string{"", "10", "soon", "-5m", "0s", "4s", "Never"} {
		tags := []Tag{{TagLostAfter, value}}
		if err := CheckLostAfter(tags); err == nil || !strings.Contains(err.Error(), `such as "10m"`) {
			t.Errorf("%q: %v", value, err)
		}
		if after, ever := (&Task{Tags: tags}).LostAfter(pool); after != pool || !ever {
			t.Errorf("%q on record already: %v, %t", value, after, ever)
		}
	}
}
