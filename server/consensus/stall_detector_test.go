package consensus

import (
	"testing"
	"time"
)

func TestALeaderThatDidNotRunIsNotSureForAWhile(t *testing.T) {
	var p stallDetector
	now := time.Now()
	p.reset(now)
	steps := []struct {
		name  string
		after time.Duration
		sure  bool
	}{
		{"it has just begun", 0, true},
		{"it runs", maxStall / 4, true},
		{"it was late", maxStall, true},
		{"it was stopped", maxStall + 1, false},
		{"it runs again", quarantine / 4, false},
		{"and it still does", quarantine / 4, false},
		{"but not for long", quarantine / 4, false},
		{"now it does", quarantine / 4, true},
		{"another stop", time.Hour, false},
	}
	for _, step := range steps {
		now = now.Add(step.after)
		if got := p.observe(now); got != step.sure {
			t.Errorf("%s: sure is %v", step.name, got)
		}
	}
	p.reset(now)
	if !p.observe(now) {
		t.Error("a new term begins in doubt")
	}
}
