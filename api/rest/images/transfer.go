package images

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"pinion/api/httpx"
	"pinion/api/rest"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// transferView is how far the transfer of an image is that a host was asked for.
type transferView struct {
	Image  string `json:"image"`
	To     string `json:"to,omitempty"` // where a push goes
	Done   int64  `json:"done"`         // bytes
	Total  int64  `json:"total"`        // bytes in all, 0 while unknown
	Ended  bool   `json:"ended"`
	Digest string `json:"digest,omitempty"` // of a pull that has ended well
	Error  string `json:"error,omitempty"`  // why it failed
	Note   string `json:"note,omitempty"`   // what is worth knowing of one that went well
}

const (
	// maxTransfers bounds the transfers that a host remembers; of those that have ended, the oldest go first.
	maxTransfers = 100
	// transferTimeout bounds one transfer.
	transferTimeout = 12 * time.Hour
)

// Transfers are the pulls and pushes of images that this host was asked for. The zero value is ready, for all handlers of a process.
type Transfers struct {
	mu  sync.Mutex
	all map[string]*transfer // by key
}

type transfer struct {
	transferView
	at time.Time
}

// errTransfers refuses a transfer beyond maxTransfers.
var errTransfers = wire.Errorf(httpx.Unavailable, "This host has %d transfers of images under way already: try again when some are through.", maxTransfers)

// begin starts a transfer, unless the same one is under way.
func (ts *Transfers) begin(key string, view transferView, run func(ctx context.Context, progress func(spec.Pull)) (digest, note string, err error)) error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if known := ts.all[key]; known != nil && !known.Ended {
		return nil
	}
	if !ts.makeRoom() {
		return errTransfers
	}
	t := &transfer{view, time.Now()}
	ts.all[key] = t
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), transferTimeout)
		defer cancel()
		digest, note, err := run(ctx, func(p spec.Pull) {
			ts.mu.Lock()
			defer ts.mu.Unlock()
			t.Done, t.Total = p.Done, p.Total
		})
		ts.mu.Lock()
		defer ts.mu.Unlock()
		t.Ended, t.Digest, t.Note = true, digest, note
		if err != nil {
			t.Error = err.Error()
		}
	}()
	return nil
}

func (ts *Transfers) makeRoom() bool {
	if ts.all == nil {
		ts.all = map[string]*transfer{}
	}
	if len(ts.all) < maxTransfers {
		return true
	}
	keys := slices.SortedFunc(maps.Keys(ts.all), func(a, b string) int { return ts.all[a].at.Compare(ts.all[b].at) })
	for _, key := range keys {
		if ts.all[key].Ended {
			delete(ts.all, key)
			return true
		}
	}
	return false
}

func (ts *Transfers) view(key string) (transferView, bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.all[key]; t != nil {
		return t.transferView, true
	}
	return transferView{}, false
}

// serveLocal makes a handler of this host's own answer.
func (h *Handler) serveLocal(answer rest.HostHandler) rest.HostHandler {
	return func(x *httpx.Exchange, id string) error {
		if h.Host == nil || id != h.Peers.HostID {
			return wire.Errorf(httpx.NotFound, "This host is %s, and has no images of host %q.", h.Peers.HostID, id)
		}
		return answer(x, id)
	}
}

// pull begins to pull an image.
func (h *Handler) pull(x *httpx.Exchange, _ string) error {
	name := x.Request.URL.Query().Get("name")
	err := h.Transfers.begin("pull "+name, transferView{Image: name}, func(ctx context.Context, progress func(spec.Pull)) (string, string, error) {
		pulled, err := h.Host.Pull(ctx, name, progress)
		return pulled.Digest, "", err
	})
	return h.answer(x, "pull "+name, err)
}

// push begins to push an image.
func (h *Handler) push(x *httpx.Exchange, _ string) error {
	q := x.Request.URL.Query()
	name, digest, to := q.Get("name"), q.Get("digest"), q.Get("to")
	key := "push " + name + " " + to
	err := h.Transfers.begin(key, transferView{Image: name, To: to}, func(ctx context.Context, progress func(spec.Pull)) (string, string, error) {
		whole, err := h.Host.Push(ctx, name, digest, to, progress)
		if err == nil && !whole {
			return digest, "the pool has the image for one platform alone, so the registry got that one", nil
		}
		return digest, "", err
	})
	return h.answer(x, key, err)
}

func (h *Handler) answer(x *httpx.Exchange, key string, err error) error {
	if err != nil {
		return err
	}
	view, _ := h.Transfers.view(key)
	return reply(x, view)
}

// transfer shows how far a pull or a push is.
func (h *Handler) transfer(x *httpx.Exchange, _ string) error {
	q := x.Request.URL.Query()
	key := "pull " + q.Get("name")
	if to := q.Get("to"); to != "" {
		key = "push " + q.Get("name") + " " + to
	}
	view, known := h.Transfers.view(key)
	if !known {
		return wire.Errorf(httpx.NotFound, "This host knows of no such transfer: it may have been started again since. Ask for it again.")
	}
	return reply(x, view)
}

func (h *Handler) remove(x *httpx.Exchange, _ string) error {
	err := h.Host.Remove(x.Context(), x.Request.URL.Query().Get("digest"))
	switch {
	case errors.Is(err, spec.ErrNotFound):
		return wire.Errorf(httpx.NotFound, "%v.", err)
	case errors.Is(err, spec.ErrInUse):
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	case err != nil:
		return err
	}
	return reply(x, struct{}{})
}

func (h *Handler) prune(x *httpx.Exchange, _ string) error {
	dryRun := x.Request.URL.Query().Get("dry-run")
	if dryRun != "" && dryRun != "true" {
		return wire.Errorf(wire.InvalidParameter, "dry-run is true or left out, not %.300q.", dryRun)
	}
	removed, err := h.Host.Prune(x.Context(), dryRun != "")
	if err != nil {
		return err
	}
	views := []imageView{}
	for _, r := range removed {
		views = append(views, imageView{Name: r.Name, Digest: r.Digest, Size: r.Size})
	}
	return reply(x, views)
}

// export sends an image as an archive.
func (h *Handler) export(x *httpx.Exchange, _ string) error {
	q := x.Request.URL.Query()
	x.Header().Set("Content-Type", "application/x-tar")
	err := h.Host.Export(x.Context(), q.Get("name"), q.Get("digest"), &httpx.StreamWriter{Exchange: x})
	if err == nil || !x.Wrote() {
		return err
	}
	x.Log.Warn("an archive of an image broke off", "requestId", x.ID, "image", q.Get("name"), "error", err)
	panic(http.ErrAbortHandler)
}
