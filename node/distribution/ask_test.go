package distribution

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opencontainers/go-digest"

	"pinion/raftfsm/blob"
)

// askedTracker is a tracker that notes what it is asked, and answers by a function.
type askedTracker struct {
	mu     sync.Mutex
	asked  []blob.Request
	answer func(n int) error // of the n-th question
}

func (a *askedTracker) Ask(_ context.Context, r blob.Request) (blob.Answer, error) {
	a.mu.Lock()
	a.asked = append(a.asked, r)
	n := len(a.asked)
	a.mu.Unlock()
	return blob.Answer{Epoch: "one"}, a.answer(n)
}

func (a *askedTracker) Changed() <-chan struct{} { return nil }

func (a *askedTracker) Read(context.Context, string, string, int64, int64) (io.ReadCloser, int64, error) {
	return nil, 0, blob.ErrNotHere
}

// nothingStored is a host without blobs.
type nothingStored struct{}

func (nothingStored) Digests(context.Context) ([]digest.Digest, error) { return nil, nil }

func (nothingStored) Images(context.Context) ([]blob.Image, error) { return nil, nil }

func (nothingStored) ReaderAt(context.Context, digest.Digest) (ReaderAt, int64, error) {
	return nil, 0, blob.ErrNotHere
}

func openAsked(t *testing.T, tracker *askedTracker) *BlobPeer {
	t.Helper()
	x, err := Open(Config{Store: nothingStored{}, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	x.SetPeers(tracker)
	return x
}

func TestATrackerThatFailsIsNotAskedAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := &askedTracker{answer: func(int) error { return errors.New("it does not understand") }}
		x := openAsked(t, tracker)
		defer x.Close()
		time.Sleep(time.Minute)
		if n := len(tracker.asked); n < 10 || n > 30 {
			t.Errorf("asked %d times in a minute", n)
		}
	})
}

// Blobs that go while the tracker is being told of them are not left with it.
func TestWhatGoesWhileItIsToldIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x *BlobPeer
		opened := make(chan struct{})
		tracker := &askedTracker{}
		tracker.answer = func(n int) error {
			<-opened
			if n == 1 {
				x.Removed()
			}
			return nil
		}
		x = openAsked(t, tracker)
		close(opened)
		defer x.Close()
		time.Sleep(time.Second)
		if n := len(tracker.asked); n != 2 || !tracker.asked[1].Full || tracker.asked[1].Images == nil {
			t.Errorf("%+v", tracker.asked)
		}
	})
}

// meantTracker is a tracker that was told by no host yet, and then by one after the other what a tag meant.
type meantTracker struct {
	nothingAsked
	answers []blob.Answer
}

// nothingAsked is peers that have nothing.
type nothingAsked struct{}

func (nothingAsked) Changed() <-chan struct{} { return nil }

func (nothingAsked) Read(context.Context, string, string, int64, int64) (io.ReadCloser, int64, error) {
	return nil, 0, blob.ErrNotHere
}

func (m *meantTracker) Ask(_ context.Context, r blob.Request) (blob.Answer, error) {
	if r.Tag == "" {
		return blob.Answer{}, nil
	}
	next := m.answers[0]
	m.answers = m.answers[1:]
	return next, nil
}

// What one host says of a tag is not the last word while others have said nothing.
func TestWhatATagMeantIsKnownWhenAllHostsHaveTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := &meantTracker{answers: []blob.Answer{{Settling: true}, {Settling: true, ResolvedTag: &blob.ResolvedTag{Digest: "sha256:old"}}, {ResolvedTag: &blob.ResolvedTag{Digest: "sha256:new"}}, {}}}
		x, err := Open(Config{Store: nothingStored{}, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		x.SetPeers(tracker)
		defer x.Close()
		if got, err := x.ResolvedTag(t.Context(), "a:1"); err != nil || got.Digest != "sha256:new" {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := x.ResolvedTag(t.Context(), "b:1"); !errors.Is(err, blob.ErrNotHere) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
