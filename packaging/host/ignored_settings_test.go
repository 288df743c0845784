package host

import (
	"strings"
	"testing"
	"time"

	"pinion/api/cli"
	"pinion/raftfsm/spec"
)

// An option that is for a new pool has no effect on one that exists, and says so where it asks for something else.
func TestOptionsThatThePoolDoesNotGoByAreTold(t *testing.T) {
	has := spec.Settings{Servers: 3, ReplaceAfter: 5 * time.Minute, TaskLostAfter: time.Minute}
	for want, config := range map[string]cli.UpConfig{
		"":                    {},
		" ":                   {NewPool: cli.PoolOptions{Servers: 3, LostAfter: time.Minute}},
		"pool set servers=5":  {NewPool: cli.PoolOptions{Servers: 5, ReplaceAfter: 5 * time.Minute}},
		"pool set lost-after": {NewPool: cli.PoolOptions{LostAfter: 2 * time.Minute}},
	} {
		notes := strings.Join(ignoredSettings(config, &has), "\n")
		if (strings.TrimSpace(want) == "") != (notes == "") || !strings.Contains(notes, strings.TrimSpace(want)) {
			t.Errorf("%+v: %q", config, notes)
		}
	}
	if notes := ignoredSettings(cli.UpConfig{NewPool: cli.PoolOptions{Servers: 3, LostAfter: time.Minute}}, nil); len(notes) != 2 {
		t.Errorf("on a host that does not hold the state: %q", notes)
	}
}
