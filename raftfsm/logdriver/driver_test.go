package logdriver

import (
	"slices"
	"testing"
)

func TestLogSizes(t *testing.T) {
	for text, want := range map[string]int64{"10m": 10 << 20, "1g": 1 << 30, "500k": 500 << 10, "64KB": 64 << 10, "123": 123} {
		if got, err := parseLogSize(text); got != want || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "0", "-1m", "m", "1.5g", "many", "9999999999999g"} {
		if got, err := parseLogSize(bad); err == nil {
			t.Errorf("%s: %d", bad, got)
		}
	}
}

// Each value that passes the check of an option can be used for the rotation.
func TestLogDriverTable(t *testing.T) {
	for _, driver := range All() {
		if found, known := Find(driver.Name); !known || found.Name != driver.Name {
			t.Errorf("%s is not found", driver.Name)
		}
		for _, option := range rotation {
			if driver.Name == Firelens {
				continue // its options are the router's
			}
			if !slices.ContainsFunc(driver.Options, func(o Option) bool { return o.Name == option.Name }) {
				t.Errorf("%s has no %s", driver.Name, option.Name)
			}
			for _, value := range []string{"1", "10m", "512KB", "999999999", "0", "big", "-1", "1.5g"} {
				_, err := (&Configuration{LogDriver: driver.Name, Options: map[string]string{option.Name: value}}).Rotation()
				if option.Valid != nil && option.Valid(value) != (err == nil) {
					t.Errorf("%s %s=%s: valid %t, %v", driver.Name, option.Name, value, option.Valid(value), err)
				}
			}
		}
	}
	if _, known := Find("logentries"); known {
		t.Error("logentries is no driver")
	}
}

func TestAwslogsOptionsAreThoseOfTheDriver(t *testing.T) {
	options := map[string]string{"awslogs-group": "/train", "awslogs-stream-prefix": "run"}
	for driver, want := range map[string][2]string{"awslogs": {"/train", "run"}, "json-file": {}} {
		group, prefix := (&Configuration{LogDriver: driver, Options: options}).Awslogs()
		if got := [2]string{group, prefix}; got != want {
			t.Errorf("%s: %v", driver, got)
		}
	}
	if group, prefix := (*Configuration)(nil).Awslogs(); group != "" || prefix != "" {
		t.Errorf("no configuration: %s, %s", group, prefix)
	}
}
