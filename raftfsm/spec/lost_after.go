package spec

import (
	"fmt"
	"time"
)

// TagLostAfter is the tag by which a task says for how long its host may be silent before the task counts as STOPPED, in
// place of the pool's time (Settings.TaskLostAfter): a span of time as in "10m" or "1h30m", or "never". It is no less
// than MinLostAfter.
const TagLostAfter = "pinion.lost-after"

// MinLostAfter is the shortest time of TagLostAfter: a host that is heard of again before was never away.
const MinLostAfter = 5 * time.Second

// neverLost is the value of TagLostAfter for a task that only its host, or a person, may end.
const neverLost = "never"

// LostAfter is for how long the task's host may be silent before the task counts as STOPPED; pool is the time of tasks
// that do not say. ever is false for a task that is never given up, with the host's removal as the only way.
func (t *Task) LostAfter(poolDefault time.Duration) (after time.Duration, ever bool) {
	after, ever, err := lostAfter(t.Tags, poolDefault)
	if err != nil { // it was recorded before anybody checked
		return poolDefault, true
	}
	return after, ever
}

// CheckLostAfter says what is wrong with the TagLostAfter of a task to be; nil when it has none.
func CheckLostAfter(tags []Tag) error {
	_, _, err := lostAfter(tags, 0)
	return err
}

func lostAfter(tags []Tag, pool time.Duration) (after time.Duration, ever bool, err error) {
	for _, tag := range tags {
		if tag.Key != TagLostAfter {
			continue
		}
		if tag.Value == neverLost {
			return 0, false, nil
		}
		after, err := time.ParseDuration(tag.Value)
		if err != nil || after < MinLostAfter {
			return 0, false, fmt.Errorf(`the tag %s is %q: write a span of time of %s or more, such as "10m" or "1h30m", or "never"`, TagLostAfter, tag.Value, MinLostAfter)
		}
		return after, true, nil
	}
	return pool, true, nil
}
