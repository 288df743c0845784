package distribution

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/opencontainers/go-digest"

	"pinion/raftfsm/blob"
)

const mib = 1 << 20

func TestTheRegistryGivesABlobOnceHoweverManyHostsWantIt(t *testing.T) {
	for name, size := range map[string]int{"one byte": 1, "one piece": 4 * mib, "a piece and a byte": 4*mib + 1, "many pieces": 29*mib + 17} {
		for _, noRanges := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				p := newTestPool(t, 8, size)
				p.registry.noRanges = noRanges
				if err := p.fetchAll(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := p.registry.bytes.Load(); got != int64(size) {
					t.Errorf("the registry gave %d bytes of %d", got, size)
				}
			})
		}
	}
}

func TestAHostWithoutATrackerFetchesFromTheRegistry(t *testing.T) {
	p := newTestPool(t, 2, 20*mib)
	p.away = errors.New("no leader")
	if err := p.fetchAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.registry.bytes.Load(); got != 2*20*mib {
		t.Errorf("the registry gave %d bytes", got)
	}
	if !p.logged("the registry alone") {
		t.Error("nobody is told")
	}
}

// wrongBytes changes one bit of all that a host gives.
type wrongBytes struct{ http.ResponseWriter }

func (w wrongBytes) Write(b []byte) (int, error) {
	wrong := bytes.Clone(b)
	wrong[len(b)/2] ^= 1
	return w.ResponseWriter.Write(wrong)
}

// cut ends the answer after some bytes.
type cut struct {
	http.ResponseWriter
	left int
}

func (w *cut) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return w.ResponseWriter.Write(b)
}

// A bad host costs the others nothing but time, with the registry there or not: two hosts have the blob, and one of them lies, breaks
// off, stalls, fails, or has it no more.
func TestABadHostSpoilsNothing(t *testing.T) {
	bad := map[string]func(w http.ResponseWriter, r *http.Request) http.ResponseWriter{
		"lies":       func(w http.ResponseWriter, _ *http.Request) http.ResponseWriter { return wrongBytes{w} },
		"breaks off": func(w http.ResponseWriter, _ *http.Request) http.ResponseWriter { return &cut{w, mib} },
		"stalls":     func(http.ResponseWriter, *http.Request) http.ResponseWriter { return nil },
		"fails": func(w http.ResponseWriter, _ *http.Request) http.ResponseWriter {
			w.WriteHeader(http.StatusInternalServerError)
			return nil
		},
		"has it no more": func(w http.ResponseWriter, _ *http.Request) http.ResponseWriter {
			w.WriteHeader(http.StatusNotFound)
			return nil
		},
	}
	for name, tamper := range bad {
		for _, off := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newTestPool(t, 2, 33*mib)
				if err := p.fetchAll(t.Context()); err != nil {
					t.Fatal(err)
				}
				p.hosts[0].tamper = tamper
				if off {
					gone := errors.New("the registry is off")
					p.registry.fail.Store(&gone)
				}
				late := p.add("late")
				if err := late.fetch(t.Context()); err != nil {
					t.Fatalf("registry off: %t: %v", off, err)
				}
				if name == "lies" && !p.logged("gave wrong bytes of a blob") {
					t.Error("nobody is told that a host lies")
				}
			})
		}
	}
}

// When all that have the blob lie and the registry is off, the fetch fails and names them.
func TestWrongBytesAreNeverGivenOn(t *testing.T) {
	p := newTestPool(t, 2, 9*mib)
	if err := p.fetchAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, h := range p.hosts {
		h.tamper = func(w http.ResponseWriter, _ *http.Request) http.ResponseWriter { return wrongBytes{w} }
	}
	gone := errors.New("the registry is off")
	p.registry.fail.Store(&gone)
	if err := p.add("late").fetch(t.Context()); !errors.Is(err, ErrDigest) {
		t.Errorf("it ends with %v", err)
	}
}

func TestARegistryThatLiesIsNamed(t *testing.T) {
	p := newTestPool(t, 1, 9*mib)
	p.registry.data = bytes.Clone(p.data)
	p.registry.data[5*mib] ^= 1
	if err := p.fetchAll(t.Context()); !errors.Is(err, ErrDigest) {
		t.Errorf("it ends with %v", err)
	}
}

func TestARegistryThatFailsEndsTheFetchWithItsError(t *testing.T) {
	p := newTestPool(t, 3, 9*mib)
	down := errors.New("the registry is down")
	p.registry.fail.Store(&down)
	if err := p.fetchAll(t.Context()); !errors.Is(err, down) {
		t.Errorf("it ends with %v", err)
	}
}

func TestAFetchEndsWithItsContext(t *testing.T) {
	p := newTestPool(t, 1, 9*mib)
	p.owner = map[int]string{0: "another", 1: "another", 2: "another"} // which never brings anything
	ctx, cancel := context.WithCancel(t.Context())
	r, err := p.hosts[0].x.Fetch(ctx, p.digest, int64(len(p.data)), p.registry, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(r)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	r.Close()
	if p.hosts[0].x.shared(p.digest) != nil {
		t.Error("what was broken off is kept")
	}
}

// Containerd goes on where an earlier process stopped: what is before is not fetched.
func TestAReaderThatSkipsFetchesTheRestAlone(t *testing.T) {
	p := newTestPool(t, 1, 20*mib)
	r, err := p.hosts[0].x.Fetch(t.Context(), p.digest, int64(len(p.data)), p.registry, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Seek(9*mib, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, p.data[9*mib:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if gave := p.registry.bytes.Load(); gave != 12*mib {
		t.Errorf("the registry gave %d bytes", gave)
	}
	if _, err := r.Seek(-1, io.SeekStart); err == nil {
		t.Error("a byte before the first one exists")
	}
}

func TestServeAnswersWhatMakesSense(t *testing.T) {
	p := newTestPool(t, 1, 5*mib)
	if err := p.fetchAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		name, digest, bytes string
		status              int
	}{
		{"all of it", p.digest.String(), "bytes=0-5242879", http.StatusPartialContent},
		{"its last byte", p.digest.String(), "bytes=5242879-5242879", http.StatusPartialContent},
		{"more than there is", p.digest.String(), "bytes=0-5242880", http.StatusNotFound},
		{"far more", p.digest.String(), "bytes=9223372036854775806-9223372036854775807", http.StatusBadRequest},
		{"another blob", digest.FromString("another").String(), "bytes=0-0", http.StatusNotFound},
		{"no range", p.digest.String(), "", http.StatusBadRequest},
		{"an open range", p.digest.String(), "bytes=0-", http.StatusBadRequest},
		{"a range backwards", p.digest.String(), "bytes=2-1", http.StatusBadRequest},
		{"two ranges", p.digest.String(), "bytes=0-1,3-4", http.StatusBadRequest},
		{"a path", "../../etc/passwd", "bytes=0-1", http.StatusBadRequest},
		{"no digest", "sha256:zz", "bytes=0-1", http.StatusBadRequest},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetPathValue("digest", k.digest)
		r.Header.Set("Range", k.bytes)
		w := httptest.NewRecorder()
		p.hosts[0].x.Serve(w, r, "another host")
		if w.Code != k.status {
			t.Errorf("%s: %d %.100s", k.name, w.Code, w.Body)
		}
	}
}

func TestUploadsAreBounded(t *testing.T) {
	var u uploads
	var free []func()
	for range uploadsOfHost {
		f, ok := u.begin("a")
		if !ok {
			t.Fatal("too few")
		}
		free = append(free, f)
	}
	if _, ok := u.begin("a"); ok {
		t.Error("one host reads more than it may")
	}
	for range maxUploads - uploadsOfHost {
		if _, ok := u.begin("b"); !ok {
			t.Fatal("one host keeps another one from reading")
		}
	}
	if _, ok := u.begin("c"); ok {
		t.Error("more is read than may be")
	}
	free[0]()
	if _, ok := u.begin("c"); !ok || len(u.byHost) != 3 {
		t.Error("what has ended still counts")
	}
}

func TestABlobOfNoSenseIsRefused(t *testing.T) {
	p := newTestPool(t, 1, 1)
	for _, size := range []int64{-1, 0, blob.MaxSize + 1} {
		if _, err := p.hosts[0].x.Fetch(t.Context(), p.digest, size, p.registry, nil); err == nil {
			t.Errorf("a blob of %d bytes is fetched", size)
		}
	}
}
