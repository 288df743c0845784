package nvml

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// recording is a source whose driver has the record, and the programs that it runs.
func recording(t *testing.T, record *protocol.DriverRecord, exit error) (s *Source, ran *[]string) {
	a := &actor{onRequest: func(r protocol.Request, a *actor) {
		if r.Kind == protocol.Record {
			a.send(protocol.Message{ID: r.ID, Record: record})
			return
		}
		a.send(healthy(r))
	}}
	s, ran = opened(t, a.start), new([]string)
	s.self = "/bin/pinion-nvml"
	s.run = func(_ context.Context, program string, args ...string) (string, error) {
		*ran = append(*ran, strings.Join(append([]string{program}, args...), " "))
		return "what it printed", exit
	}
	t.Cleanup(func() { s.Close() })
	return s, ran
}

func TestAGPUIsWellWhenTheDriverAndTheMemoryTestSaySo(t *testing.T) {
	failed := errors.New("exit status 1")
	tests := []struct {
		name     string
		record   *protocol.DriverRecord
		repaired bool
		exit     error
		want     string // part of what is wrong; empty: nothing is
		tested   bool
	}{
		{"the driver holds nothing against it", &protocol.DriverRecord{Complete: true}, false, nil, "", true},
		{"the driver asks for a reset", &protocol.DriverRecord{Complete: true, Problem: "asks for a reset"}, true, nil, "asks for a reset", false},
		{"an old driver, which keeps no record", &protocol.DriverRecord{}, false, nil, "does not record", false},
		{"an old driver, after a reset", &protocol.DriverRecord{}, true, nil, "", true},
		{"its memory is broken", &protocol.DriverRecord{Complete: true}, true, failed, "what it printed", true},
		{"another version of the helper", nil, true, nil, "another version", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, ran := recording(t, test.record, test.exit)
			found := s.Check(t.Context(), "GPU-a", test.repaired)
			if (found == nil) != (test.want == "") || found != nil && !strings.Contains(found.Error(), test.want) {
				t.Errorf("found %v, want %q", found, test.want)
			}
			if want := []string{"/bin/pinion-nvml memory-test GPU-a"}; test.tested != slices.Equal(*ran, want) {
				t.Errorf("ran %q", *ran)
			}
		})
	}
}

func TestNoHelperHasTheGPUsOpenWhileOneIsReset(t *testing.T) {
	a := &actor{onRequest: func(r protocol.Request, a *actor) { a.send(healthy(r)) }}
	s := opened(t, a.start)
	defer s.Close()
	before := inventory(t, s)
	s.run = func(ctx context.Context, program string, args ...string) (string, error) {
		if got := strings.Join(append([]string{program}, args...), " "); got != "nvidia-smi --gpu-reset --id=GPU-a" {
			t.Errorf("ran %s", got)
		}
		if now := inventory(t, s); now.Problem != "" || !slices.Equal(now.Healthy(), before.Healthy()) {
			t.Errorf("meanwhile the inventory is %+v", now)
		}
		if _, err := s.Processes(ctx, "GPU-b"); !errors.Is(err, errResetting) {
			t.Errorf("a helper answers: %v", err)
		}
		if err := s.Reset(ctx, "GPU-b"); !errors.Is(err, errResetting) {
			t.Errorf("a second reset: %v", err)
		}
		return "", nil
	}
	if err := s.Reset(t.Context(), "GPU-a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Processes(t.Context(), "GPU-b"); err != nil || a.starts != 2 {
		t.Errorf("afterwards: %v, %d starts of the helper", err, a.starts)
	}
	s.run = func(context.Context, string, ...string) (string, error) {
		return "in use by another client", errors.New("exit status 3")
	}
	if err := s.Reset(t.Context(), "GPU-a"); err == nil || !strings.Contains(err.Error(), "in use by another client") {
		t.Errorf("a reset that fails: %v", err)
	}
	if i := inventory(t, s); len(i.Devices) != 2 || i.Devices[0].Health != gpu.Healthy {
		t.Errorf("afterwards: %+v", i)
	}
}
