package ecs

import "testing"

func TestArraysAndCountsAreChecked(t *testing.T) {
	for text, want := range map[string][2]int{"0-99": {0, 100}, "7-7": {7, 1}, "10-12": {10, 3}} {
		if from, count, err := parseArray(text); err != nil || [2]int{from, count} != want {
			t.Errorf("%s: %d, %d, %v", text, from, count, err)
		}
	}
	for _, bad := range []string{"", "5", "-1-2", "2-1", "0-9999999999", "a-b"} {
		if _, _, err := parseArray(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
