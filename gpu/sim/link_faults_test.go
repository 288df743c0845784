package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"pinion/gpu"
)

// A GPU with NVLinks that are down, or that cannot use its fabric, passes no check before that is over. A reset mends what a reset mends.
func TestNVLinksAndFabricsFailFromOutside(t *testing.T) {
	needRoot(t)
	tests := []struct {
		name   string
		fault  func(dir string) error
		health gpu.Health
		words  string
		resets bool
	}{
		{"links", func(dir string) error { return SetNVLinksDown(dir, 1, "2") }, gpu.NeedsReset, "2 of its 18 NVLinks are down", true},
		{"refused", func(dir string) error { return SetFabricState(dir, 1, "failed") }, gpu.NeedsReset, "could not join its NVLink fabric", true},
		{"not joined", func(dir string) error { return SetFabricState(dir, 1, "in-progress") }, gpu.Unhealthy, "has not joined its NVLink fabric yet", false},
		{"by hand", func(dir string) error { return writeFault(dir, fabricDir, 1, "odd") }, gpu.Unhealthy, `fabric/1: "odd" is none of the states in-progress, `, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				s := open(t, "2xh100", dir)
				uuid := uuidsOf(t, s)[1]
				must(t, test.fault(dir))
				<-s.Changed()
				devices := inventoryOf(t, s).Devices
				if devices[0].Health != gpu.Healthy || devices[1].Health != test.health || !strings.Contains(devices[1].Problem, test.words) {
					t.Errorf("%+v", devices)
				}
				if err := s.(gpu.Checker).Check(t.Context(), uuid, true); err == nil || !strings.Contains(err.Error(), test.words) {
					t.Errorf("its check finds %v", err)
				}
				if err := s.(gpu.Resetter).Reset(t.Context(), uuid); (err == nil) != test.resets {
					t.Errorf("its reset: %v", err)
				}
				must(t, Mend(dir, 1))
				if d := inventoryOf(t, s).Devices[1]; d.Health != gpu.Healthy || d.Problem != "" {
					t.Errorf("mended: %+v", d)
				}
				if err := s.(gpu.Checker).Check(t.Context(), uuid, false); err != nil {
					t.Errorf("mended, its check finds %v", err)
				}
			})
		})
	}
}

// What a model does not have cannot fail.
func TestFaultsOfLinksAreThoseThatTheModelCanHave(t *testing.T) {
	dir := t.TempDir()
	open(t, "2xh100+1xt4", dir)
	for name, err := range map[string]error{
		"more than it has": SetNVLinksDown(dir, 0, "19"), "no number": SetNVLinksDown(dir, 0, "some"), "less than none": SetNVLinksDown(dir, 0, "-1"),
		"no NVLinks": SetNVLinksDown(dir, 2, "1"), "no fabric": SetFabricState(dir, 2, "failed"), "no such state": SetFabricState(dir, 0, "sick"), "no such GPU": SetNVLinksDown(dir, 3, "1"),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, kind := range []string{nvlinkDir, fabricDir} {
		if entries, _ := os.ReadDir(filepath.Join(dir, kind)); len(entries) > 0 {
			t.Errorf("%s has %v", kind, entries)
		}
	}
}
