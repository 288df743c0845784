package nvml

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// rootWith makes a file system that has the given files.
func rootWith(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// driverLoaded is a host with an NVIDIA driver.
func driverLoaded(t *testing.T) string {
	return rootWith(t, map[string]string{"proc/driver/nvidia/version": "NVRM version: 580.95.05"})
}

func opened(t *testing.T, run startFunc) *Source {
	s := open(run, driverLoaded(t), slog.New(slog.DiscardHandler))
	t.Cleanup(func() { s.Close() })
	return s
}

func inventory(t *testing.T, s *Source) gpu.Inventory {
	t.Helper()
	i, err := s.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func expectProblem(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("problem %q does not say %q", got, part)
		}
	}
}

func TestARealHelperAnswersEverything(t *testing.T) {
	s := opened(t, execHelper(os.Args[0], "standin", "answers"))
	if i := inventory(t, s); len(i.Devices) != 2 || i.Problem != "" || i.Driver != "580.95.05" || i.Devices[1].UUID != "GPU-b" {
		t.Errorf("inventory %+v", i)
	}
	if kind, spec, err := s.CDI(t.Context()); err != nil || kind != "nvidia.com/gpu" || string(spec) != `{"cdiVersion":"0.6.0"}` {
		t.Errorf("CDI %s %s %v", kind, spec, err)
	}
	if pids, err := s.Processes(t.Context(), "GPU-a"); err != nil || len(pids) != 2 {
		t.Errorf("processes %v %v", pids, err)
	}
}

func TestASymbolThatTheDriverLacksIsOnlyACrashOfTheHelper(t *testing.T) {
	s := opened(t, execHelper(os.Args[0], "standin", "lacks a symbol"))
	inventory(t, s)
	_, _, err := s.CDI(t.Context())
	if err == nil {
		t.Fatal("no error")
	}
	expectProblem(t, err.Error(), `while it answered "cdi"`, "exit status 127", "undefined symbol: nvmlDeviceGetMemoryInfo_v2")

	<-s.Changed()        // its process is gone
	i := inventory(t, s) // at once: the helper rests
	expectProblem(t, i.Problem, `while it answered "cdi"`, "next try in")
	if len(i.Devices) != 2 || i.Devices[0].Health != gpu.Unhealthy {
		t.Errorf("the devices known before are now %+v", i.Devices)
	}
}

func TestARealHelperThatHangsIsEnded(t *testing.T) {
	s := opened(t, execHelper(os.Args[0], "standin", "hangs"))
	s.helper.callTimeout = time.Nanosecond
	expectProblem(t, inventory(t, s).Problem, `did not answer "inventory" within 1ns`, "the NVIDIA driver hangs")
	<-s.Changed() // comes when its process is gone
}

func TestAHelperThatTalksNonsenseIsEnded(t *testing.T) {
	s := opened(t, execHelper(os.Args[0], "standin", "babbles"))
	expectProblem(t, inventory(t, s).Problem, "WARNING: the driver is tainted", "no message")
}

func TestAHelperThatIsNotThere(t *testing.T) {
	s := opened(t, execHelper(filepath.Join(t.TempDir(), "pinion-nvml")))
	expectProblem(t, inventory(t, s).Problem, "cannot be started", "no such file")
}

func TestAHostWithoutNVIDIAHardwareHasNoProblem(t *testing.T) {
	never := func() (*process, error) { t.Error("the helper was started"); return nil, errors.New("no") }
	s := open(never, rootWith(t, map[string]string{
		"sys/bus/pci/devices/0000:00:02.0/vendor": "0x1af4\n", "sys/bus/pci/devices/0000:00:02.0/class": "0x030000\n",
		"sys/bus/pci/devices/0000:00:03.0/vendor": "0x10de\n", "sys/bus/pci/devices/0000:00:03.0/class": "0x020000\n",
	}), slog.New(slog.DiscardHandler))
	if i := inventory(t, s); i.Problem != "" || len(i.Devices) != 0 {
		t.Errorf("inventory %+v", i)
	}
	if _, _, err := s.CDI(t.Context()); err == nil {
		t.Error("CDI without GPUs")
	}
}

func TestHardwareWithoutADriverIsAProblemThatTheHelperExplains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{onRequest: func(r protocol.Request, a *actor) {
			a.send(protocol.Message{ID: r.ID, Inventory: &gpu.Inventory{Problem: "the NVIDIA driver is not installed"}})
		}}
		s := open(a.start, rootWith(t, map[string]string{
			"sys/bus/pci/devices/0000:1b:00.0/vendor": "0x10de\n", "sys/bus/pci/devices/0000:1b:00.0/class": "0x030200\n",
		}), slog.New(slog.DiscardHandler))
		defer s.Close()
		expectProblem(t, inventory(t, s).Problem, "not installed")
		asked := time.Now()
		<-s.Changed()
		if waited := time.Since(asked); waited != retryInterval {
			t.Errorf("asked to look again after %v", waited)
		}
	})
}

func TestAHangIsEndedAfterPatienceAndTheHelperStartsAnewAfterARest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := true
		a := &actor{onRequest: func(r protocol.Request, a *actor) {
			if !hangs {
				a.send(healthy(r))
			}
		}}
		s := opened(t, a.start)
		defer s.Close()
		asked := time.Now()
		expectProblem(t, inventory(t, s).Problem, "did not answer")
		if waited := time.Since(asked); waited != callTimeout {
			t.Errorf("waited %v for an answer", waited)
		}
		synctest.Wait()
		<-s.Changed() // it died
		hangs = false
		<-s.Changed() // it may be started again
		if i := inventory(t, s); i.Problem != "" || a.starts != 2 {
			t.Errorf("after the rest: %+v, %d starts", i, a.starts)
		}
	})
}

func TestAHelperThatKeepsDyingIsLeftAloneLongerAndLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{onRequest: func(r protocol.Request, a *actor) { a.die(errors.New("signal: segmentation fault"), "oops") }}
		s := opened(t, a.start)
		defer s.Close()
		var rests []time.Duration
		for range 8 {
			expectProblem(t, inventory(t, s).Problem, `while it answered "inventory": signal: segmentation fault; it said: oops`)
			synctest.Wait()
			rests = append(rests, time.Until(s.helper.retryAt))
			time.Sleep(rests[len(rests)-1])
		}
		if rests[0] != restartDelays.Min || rests[3] != 8*restartDelays.Min || rests[7] != restartDelays.Max {
			t.Errorf("rests %v", rests)
		}
	})
}

func TestManyAskersAreAllToldOfADeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{onRequest: func(r protocol.Request, a *actor) {
			if r.Kind == protocol.CDI {
				a.die(errors.New("signal: aborted"), "")
			}
		}}
		s := opened(t, a.start)
		defer s.Close()
		told := make(chan error, 3)
		for range 3 {
			go func() { _, err := s.Processes(context.Background(), "GPU-a"); told <- err }()
		}
		synctest.Wait()
		_, _, err := s.CDI(t.Context())
		expectProblem(t, err.Error(), `while it answered "cdi" and "processes": signal: aborted`)
		for range 3 {
			if err := <-told; err == nil {
				t.Error("an asker was told nothing")
			}
		}
	})
}

func TestAnAskerMayLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{onRequest: func(r protocol.Request, a *actor) {}}
		s := opened(t, a.start)
		defer s.Close()
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if _, err := s.Inventory(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestADriverThatIsSlowToWakeIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{onRequest: func(r protocol.Request, a *actor) {
			time.Sleep(25 * time.Second)
			a.send(healthy(r))
		}}
		s := opened(t, a.start)
		defer s.Close()
		ctx, leave := context.WithTimeout(t.Context(), 20*time.Second)
		defer leave()
		if _, err := s.Inventory(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		<-s.Changed()
		if i := inventory(t, s); i.Problem != "" || len(i.Devices) != 2 || a.starts != 1 {
			t.Errorf("%+v, %d starts", i, a.starts)
		}
	})
}

func TestAHangIsFoundAlsoWhenNobodyWaitsThatLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{onRequest: func(r protocol.Request, a *actor) {}}
		s := opened(t, a.start)
		defer s.Close()
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if _, err := s.Processes(ctx, "GPU-a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		<-s.Changed() // the helper was ended
		expectProblem(t, inventory(t, s).Problem, `did not answer "processes"`, "next try in")
	})
}

func TestErrorsOfTheDriverAreKeptUntilTheyAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{onRequest: func(r protocol.Request, a *actor) { a.send(healthy(r)) }}
		s := opened(t, a.start)
		defer s.Close()
		inventory(t, s)
		for range 3 {
			a.send(protocol.Message{Event: &protocol.Event{UUID: "GPU-a", Xid: 79}})
			a.send(protocol.Message{Event: &protocol.Event{Xid: 62}})
		}
		synctest.Wait()
		<-s.Changed()
		if faults := s.Faults(); !slices.Equal(faults, []gpu.Fault{{UUID: "GPU-a", Xid: 79}, {Xid: 62}}) {
			t.Errorf("faults %+v", faults)
		}
		for xid := range uint64(1000) {
			a.send(protocol.Message{Event: &protocol.Event{Xid: xid}})
		}
		synctest.Wait()
		if faults := s.Faults(); len(faults) != maxFaults {
			t.Errorf("%d faults are kept", len(faults))
		}
	})
}

// A GPU that the driver lists no more without a problem is a matter of node/gpuhealth.
func TestAGPUThatADriverCannotReadIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := twoGPUs
		a := &actor{onRequest: func(r protocol.Request, a *actor) { a.send(protocol.Message{ID: r.ID, Inventory: &seen}) }}
		s := opened(t, a.start)
		defer s.Close()
		inventory(t, s)
		seen.Devices, seen.Problem = seen.Devices[:1], "GPU 1 cannot be read"
		i := inventory(t, s)
		if len(i.Devices) != 2 || i.Devices[1].Health != gpu.Lost || i.Devices[0].Health != gpu.Healthy {
			t.Errorf("devices %+v", i.Devices)
		}
		seen = twoGPUs
		if i := inventory(t, s); len(i.Devices) != 2 || i.Devices[1].Health != gpu.Healthy {
			t.Errorf("back again: %+v", i.Devices)
		}
	})
}
