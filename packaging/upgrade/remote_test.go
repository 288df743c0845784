package upgrade

import (
	"context"
	"debug/elf"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/upgrade"
	"pinion/packaging/signature"
)

// fakeImages is the pool as a host gets programs from it.
type fakeImages struct {
	program string
	err     error
	hold    chan struct{} // nil: they come at once
}

func (f *fakeImages) File(_ context.Context, _, _, _ string, to io.Writer) error {
	if f.hold != nil {
		<-f.hold
	}
	_, err := io.WriteString(to, f.program)
	return errors.Join(err, f.err)
}

// fakeHost takes a staged program as far as its signature, as Host does: what follows is root's own upgrade.
type fakeHost struct {
	Host
	m *machine
}

func (h fakeHost) Upgrade(ctx context.Context, c upgrade.Config) (upgrade.Attempt, error) {
	a := newAttempt(c, h.m.binary)
	a.State, a.From = upgrade.Confirmed, h.m.attempt.From
	file := c.File
	if file == "" {
		file = h.m.binary + oldSuffix
	}
	if _, err := stage(ctx, file, c, &a); err != nil {
		return a, err
	}
	return a, write(h.m.dataDir, &a)
}

// remote is a host that trusts the keys, and gets its programs from the images.
func remote(t *testing.T, m *machine, from *fakeImages, keys ...signature.PublicKey) *Remote {
	t.Helper()
	if err := Trust(m.dataDir, keys); err != nil {
		t.Fatal(err)
	}
	r := NewRemote(m.dataDir, "A", from, slog.New(slog.DiscardHandler))
	r.host = fakeHost{Host{}, m}
	return r
}

// upgrade begins an upgrade and returns the last attempt once nothing is under way.
func upgradeNow(t *testing.T, r *Remote, request upgrade.Request, back bool) upgrade.Attempt {
	t.Helper()
	var status upgrade.Status
	if err := r.Begin(request, back); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		var err error
		if status, err = r.Status(); err != nil {
			t.Fatal(err)
		}
		if status.Last.State != upgrade.Staging {
			break
		}
	}
	return *status.Last
}

func requestOf(t *testing.T, program string, key signature.PrivateKey) upgrade.Request {
	t.Helper()
	m := newMachine(t)
	put(t, m.staged, program)
	digest, err := digestOf(m.staged)
	if err != nil {
		t.Fatal(err)
	}
	return upgrade.Request{ID: "A1", Timeout: 60, Image: "i", Digest: digest, Program: digest, Signature: string(sign(t, program, key))}
}

// Over the network a host takes what is signed by a key that counts there, and nothing else, whoever says that it may: a server in the wrong hands neither.
func TestOverTheNetworkOnlyASignedProgramIsTaken(t *testing.T) {
	key, other := newKey(t), newKey(t)
	good := requestOf(t, programB, key)
	with := func(change func(*upgrade.Request)) upgrade.Request {
		r := good
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		request upgrade.Request
		images  fakeImages
		keys    []signature.PublicKey
		reason  string // a part of it; empty: it is taken
	}{
		"signed":                       {good, fakeImages{program: programB}, []signature.PublicKey{other.Public(), key.Public()}, ""},
		"no key counts here":           {good, fakeImages{program: programB}, nil, "--release-key"},
		"by a key of somebody":         {requestOf(t, programB, other), fakeImages{program: programB}, []signature.PublicKey{key.Public()}, "not trusted"},
		"no signature":                 {with(func(r *upgrade.Request) { r.Signature = "" }), fakeImages{program: programB}, []signature.PublicKey{key.Public()}, "no signature"},
		"another program came":         {good, fakeImages{program: programA}, []signature.PublicKey{key.Public()}, "digest"},
		"another program, its digest":  {with(func(r *upgrade.Request) { r.Program = requestOf(t, programA, key).Program }), fakeImages{program: programA}, []signature.PublicKey{key.Public()}, "not one of this file"},
		"it does not run here":         {requestOf(t, "#!/bin/sh\nexit 1\n", key), fakeImages{program: "#!/bin/sh\nexit 1\n"}, []signature.PublicKey{key.Public()}, "does not run here"},
		"it is another program's name": {requestOf(t, "#!/bin/sh\necho docker version 3\n", key), fakeImages{program: "#!/bin/sh\necho docker version 3\n"}, []signature.PublicKey{key.Public()}, "not pinion"},
		"for another processor":        {requestOf(t, foreign(t), key), fakeImages{program: foreign(t)}, []signature.PublicKey{key.Public()}, "it is for"},
		"no host has it":               {good, fakeImages{err: errors.New("no host has it")}, []signature.PublicKey{key.Public()}, "no host has it"},
	} {
		m := newMachine(t)
		got := upgradeNow(t, remote(t, m, &c.images, c.keys...), c.request, false)
		if taken := c.reason == ""; taken != (got.State == upgrade.Confirmed && got.Signed) || taken != (got.State != upgrade.Failed) || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %+v", name, got)
		}
		if got.ID != c.request.ID {
			t.Errorf("%s: the attempt is %q", name, got.ID)
		}
	}
}

// One id is one attempt, and one attempt is under way at a time.
func TestAskingTwiceIsAskingOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, key := newMachine(t), newKey(t)
		from := &fakeImages{program: programB, hold: make(chan struct{})}
		r, request := remote(t, m, from, key.Public()), requestOf(t, programB, key)
		if err := errors.Join(r.Begin(request, false), r.Begin(request, false)); err != nil {
			t.Fatal(err)
		}
		second := request
		second.ID = "B1"
		if err := r.Begin(second, false); !errors.Is(err, upgrade.ErrBusy) {
			t.Errorf("another one meanwhile: %v", err)
		}
		if status, err := r.Status(); err != nil || status.Last.State != upgrade.Staging || status.Running.Version != "A" || len(status.Keys) != 1 {
			t.Errorf("%+v %v", status, err)
		}
		close(from.hold)
		synctest.Wait()
		if err := r.Begin(request, false); err != nil {
			t.Errorf("the same one, once it has ended: %v", err)
		}
	})
}

// A rollback over the network is one step back, to the program that ran before and to no other file that lies at its name; a second one is no way forward again.
func TestARollbackIsOneStepBack(t *testing.T) {
	m, key := newMachine(t), newKey(t)
	r := remote(t, m, &fakeImages{program: programB}, key.Public())
	back := upgrade.Request{ID: "C1", Timeout: 60}
	if err := r.Begin(back, true); !errors.Is(err, upgrade.ErrNoPrevious) {
		t.Errorf("no upgrade: %v", err)
	}
	if got := upgradeNow(t, r, requestOf(t, programB, key), false); got.State != upgrade.Confirmed {
		t.Fatalf("%+v", got)
	}
	if status, err := r.Status(); err != nil || status.Before != nil {
		t.Errorf("another program than the new one runs: %+v %v", status, err)
	}
	r.running = func() (upgrade.Release, error) { return m.attempt.To, nil } // it was started anew
	put(t, m.binary+oldSuffix, programB)
	if err := r.Begin(back, true); !errors.Is(err, upgrade.ErrNoPrevious) {
		t.Errorf("another program at its name: %v", err)
	}
	put(t, m.binary+oldSuffix, programA)
	if status, err := r.Status(); err != nil || status.Before == nil || status.Before.Digest != m.attempt.From.Digest {
		t.Errorf("%+v %v", status, err)
	}
	if got := upgradeNow(t, r, back, true); got.State != upgrade.Confirmed || !got.Rollback {
		t.Fatalf("%+v", got)
	}
	back.ID = "C2"
	if err := r.Begin(back, true); !errors.Is(err, upgrade.ErrNoPrevious) {
		t.Errorf("twice: %v", err)
	}
	if status, err := r.Status(); err != nil || status.Before != nil {
		t.Errorf("%+v %v", status, err)
	}
}

// What was wrong with a host as it was asked stands in its journal: whoever asks it later, another command on another machine too, knows what was older than the upgrade.
// That there was nothing is recorded likewise; of an upgrade by root of the machine nobody has said anything.
func TestTheProblemsOfBeforeAreRecordedWithAnUpgrade(t *testing.T) {
	for name, problems := range map[string][]string{"some": {"GPU 3 is LOST", "its proxy does not serve port 80"}, "none": nil} {
		m, key := newMachine(t), newKey(t)
		request := requestOf(t, programB, key)
		request.Problems = problems
		if got := upgradeNow(t, remote(t, m, &fakeImages{program: programB}, key.Public()), request, false); got.State != upgrade.Confirmed {
			t.Fatalf("%s: %+v", name, got)
		}
		status, err := remote(t, m, &fakeImages{}, key.Public()).Status() // of the process that comes after
		if err != nil || status.Last == nil || status.Last.Problems == nil || !slices.Equal(status.Last.Problems, problems) {
			t.Errorf("%s: %+v %v", name, status.Last, err)
		}
	}
	if a := newAttempt(upgrade.Config{}, "/usr/bin/pinion"); a.Problems != nil {
		t.Errorf("root's own: %q", a.Problems)
	}
}

// foreign is the beginning of a program for another processor than this machine's.
func foreign(t *testing.T) string {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	machine := elf.EM_AARCH64
	if runtime.GOARCH == "arm64" {
		machine = elf.EM_X86_64
	}
	self[18] = byte(machine)
	return string(self[:64])
}
