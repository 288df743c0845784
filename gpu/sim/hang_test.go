package sim

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pinion/gpu"
)

// Calls to a driver that hangs return when their caller gives up, or when it answers again.
func TestTheDriverHangsForAGPUOrForAll(t *testing.T) {
	needRoot(t)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, "2xh100", dir)
		uuids := uuidsOf(t, s)
		call := func(f func(ctx context.Context) error) error {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			return f(ctx)
		}
		processes := func(uuid string) error {
			return call(func(ctx context.Context) error { _, err := s.Processes(ctx, uuid); return err })
		}
		usage := func() (all []gpu.Usage, err error) {
			err = call(func(ctx context.Context) error { all, err = s.(gpu.Meter).Usage(ctx); return err })
			return all, err
		}
		must(t, Hang(dir, 1))
		<-s.Changed()
		if devices := inventoryOf(t, s).Devices; devices[0].Health != gpu.Healthy || devices[1].Health != gpu.Hung {
			t.Errorf("one hangs: %+v", devices)
		}
		if err := processes(uuids[1]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("its processes: %v", err)
		}
		if err := call(func(ctx context.Context) error { return s.(gpu.Checker).Check(ctx, uuids[1], true) }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("its check: %v", err)
		}
		must(t, processes(uuids[0]))
		if all, err := usage(); err != nil || len(all) != 1 || all[0].UUID != uuids[0] {
			t.Errorf("usage %+v, %v", all, err)
		}
		must(t, Mend(dir, 1))
		must(t, processes(uuids[1]))

		must(t, HangDriver(dir, true))
		_, usageErr := usage()
		inventoryErr := call(func(ctx context.Context) error { _, err := s.Inventory(ctx); return err })
		cdiErr := call(func(ctx context.Context) error { _, _, err := s.CDI(ctx); return err })
		for name, err := range map[string]error{"processes": processes(uuids[0]), "usage": usageErr, "inventory": inventoryErr, "CDI": cdiErr} {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s of a driver that hangs: %v", name, err)
			}
		}
		go func() {
			time.Sleep(time.Second)
			HangDriver(dir, false)
		}()
		must(t, processes(uuids[0]))
		if all := uuidsOf(t, s); len(all) != 2 {
			t.Errorf("after it: %v", all)
		}
	})
}
