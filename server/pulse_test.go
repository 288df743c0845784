package server

import (
	"testing"
	"time"
)

func TestALeaderThatDidNotRunIsNotSureForAWhile(t *testing.T) {
	var p pulse
	now := time.Now()
	p.begin(now)
	steps := []struct {
		name  string
		after time.Duration
		sure  bool
	}{
		{"it has just begun", 0, true},
		{"it runs", stall / 4, true},
		{"it was late", stall, true},
		{"it was stopped", stall + 1, false},
		{"it runs again", stall, false},
		{"and it still does", stall, false},
		{"but not for long", stall, false},
		{"now it does", stall, true},
		{"another stop", time.Hour, false},
	}
	for _, step := range steps {
		now = now.Add(step.after)
		if got := p.sure(now); got != step.sure {
			t.Errorf("%s: sure is %v", step.name, got)
		}
	}
	p.begin(now)
	if !p.sure(now) {
		t.Error("a new term begins in doubt")
	}
}
