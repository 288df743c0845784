package distribution

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"

	"pinion/raftfsm/blob"
)

// testPool is some hosts with exchanges, a registry, and a tracker that gives each piece to one host to fetch.
type testPool struct {
	t        *testing.T
	data     []byte
	digest   digest.Digest
	registry *testRegistry
	log      bytes.Buffer
	logMu    sync.Mutex
	hosts    []*testHost

	mu     sync.Mutex
	owner  map[int]string // piece -> host that fetches it from the registry
	shares map[string]blob.Pieces
	away   error // what the tracker answers; nil: it does

	settling bool // the tracker does not know yet what hosts have
	asked    int  // questions about a blob that the registry does not give
}

// testHost is one of them. What it gives others goes through tamper, if that is set.
type testHost struct {
	p      *testPool
	id     string
	x      *BlobPeer
	store  sync.Map // digest -> []byte
	tamper func(w http.ResponseWriter, r *http.Request) http.ResponseWriter
	reads  atomic.Int64
}

func newTestPool(t *testing.T, hosts int, size int) *testPool {
	t.Helper()
	p := &testPool{t: t, data: make([]byte, size), owner: map[int]string{}, shares: map[string]blob.Pieces{}}
	source := rand.NewChaCha8([32]byte{byte(size)})
	source.Read(p.data)
	p.digest = digest.FromBytes(p.data)
	p.registry = &testRegistry{data: p.data}
	for i := range hosts {
		p.add(fmt.Sprintf("host-%d", i))
	}
	return p
}

func (p *testPool) add(id string) *testHost {
	h := &testHost{p: p, id: id}
	x, err := Open(Config{Store: h, Dir: p.t.TempDir(), Log: slog.New(slog.NewTextHandler(p, nil))})
	if err != nil {
		p.t.Fatal(err)
	}
	h.x = x
	x.SetPeers(h)
	p.t.Cleanup(func() { x.Close() })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts = append(p.hosts, h)
	return h
}

// Write takes the log of all hosts.
func (p *testPool) Write(b []byte) (int, error) {
	p.logMu.Lock()
	defer p.logMu.Unlock()
	return p.log.Write(b)
}

func (p *testPool) logged(text string) bool {
	p.logMu.Lock()
	defer p.logMu.Unlock()
	return bytes.Contains(p.log.Bytes(), []byte(text))
}

// fetch has a host fetch the blob into its store, as containerd does.
func (h *testHost) fetch(ctx context.Context) error {
	for {
		r, err := h.x.Fetch(ctx, h.p.digest, int64(len(h.p.data)), h.p.registry, nil)
		if err != nil {
			return err
		}
		got, err := io.ReadAll(r)
		r.Close()
		if errors.Is(err, ErrRestart) {
			continue
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(got, h.p.data) {
			h.p.t.Errorf("%s has got wrong bytes", h.id)
		}
		h.store.Store(h.p.digest, got)
		h.x.MarkComplete(h.p.digest)
		return nil
	}
}

// fetchAll has all hosts fetch the blob at the same time.
func (p *testPool) fetchAll(ctx context.Context) error {
	errs := make([]error, len(p.hosts))
	var all sync.WaitGroup
	for i, h := range p.hosts {
		all.Go(func() { errs[i] = h.fetch(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (h *testHost) Ask(_ context.Context, r blob.Request) (blob.Answer, error) {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	if slices.ContainsFunc(r.Wants, func(w blob.Want) bool { return w.NoRegistry }) {
		h.p.asked++
	}
	if h.p.away != nil {
		return blob.Answer{}, h.p.away
	}
	answer := blob.Answer{Epoch: "one", AgainMillis: 5, Settling: h.p.settling}
	if slices.Contains(r.Held, h.p.digest.String()) {
		h.p.shares[h.id] = blob.AllPieces(blob.Count(int64(len(h.p.data))))
	}
	for _, w := range r.Wants {
		answer.Grants = append(answer.Grants, h.p.grant(h.id, w))
	}
	return answer, nil
}

func (p *testPool) grant(host string, w blob.Want) (g blob.Sources) {
	if p.shares[host] == nil || w.Share.Len() > p.shares[host].Len() {
		p.shares[host] = w.Share
	}
	available := blob.NewPieces(blob.Count(w.Size))
	for id, share := range p.shares {
		if id != host && !slices.Contains(w.Avoid, id) && share.HasOther(w.Have) {
			g.Peers = append(g.Peers, blob.Peer{Host: id, Address: id, Has: share})
			available.Merge(share)
		}
	}
	for i := range blob.Count(w.Size) {
		switch owner := p.owner[i]; {
		case w.NoRegistry && owner == host:
			delete(p.owner, i)
		case w.Have.Has(i) || available.Has(i) || w.NoRegistry:
		case w.NoRanges:
			g.Whole = p.owner[0] == "" || p.owner[0] == host
			if g.Whole {
				p.owner[0] = host
			}
			g.Coming = !g.Whole
		case owner == "" || slices.Contains(w.Avoid, owner):
			if len(g.Take) < w.Take {
				p.owner[i] = host
				g.Take = append(g.Take, i)
			}
		case owner != host:
			g.Coming = true
		}
	}
	return g
}

func (h *testHost) Read(ctx context.Context, host, digest string, offset, length int64) (io.ReadCloser, int64, error) {
	h.p.mu.Lock()
	i := slices.IndexFunc(h.p.hosts, func(o *testHost) bool { return o.id == host })
	h.p.mu.Unlock()
	to := h.p.hosts[i]
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	request.SetPathValue("digest", digest)
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	in, out := io.Pipe()
	answer := &pipeWriter{out: out, ctx: ctx, status: make(chan int, 1), header: http.Header{}}
	context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) })
	go func() {
		var w http.ResponseWriter = answer
		if to.tamper != nil {
			w = to.tamper(w, request)
		}
		if w != nil {
			to.reads.Add(1)
			to.x.Serve(w, request, h.id)
			out.CloseWithError(io.ErrUnexpectedEOF)
		}
	}()
	select {
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case status := <-answer.status:
		switch status {
		case http.StatusPartialContent:
			return in, int64(len(h.p.data)), nil
		case http.StatusNotFound:
			return nil, 0, blob.ErrNotHere
		case http.StatusTooManyRequests:
			return nil, 0, blob.ErrBusy
		}
		return nil, 0, fmt.Errorf("status %d", status)
	}
}

// pipeWriter is the answer of a host.
type pipeWriter struct {
	out    *io.PipeWriter
	ctx    context.Context
	status chan int
	header http.Header
}

func (w *pipeWriter) Header() http.Header         { return w.header }
func (w *pipeWriter) WriteHeader(status int)      { w.status <- status }
func (w *pipeWriter) Write(b []byte) (int, error) { return w.out.Write(b) }

func (h *testHost) Changed() <-chan struct{} { return nil }

func (h *testHost) Images(context.Context) ([]blob.Image, error) { return nil, nil }

func (h *testHost) Digests(context.Context) (all []digest.Digest, err error) {
	h.store.Range(func(d, _ any) bool {
		all = append(all, d.(digest.Digest))
		return true
	})
	return all, nil
}

type nopCloser struct{ io.ReaderAt }

func (nopCloser) Close() error { return nil }

func (h *testHost) ReaderAt(_ context.Context, d digest.Digest) (ReaderAt, int64, error) {
	data, ok := h.store.Load(d)
	if !ok {
		return nil, 0, blob.ErrNotHere
	}
	return nopCloser{bytes.NewReader(data.([]byte))}, int64(len(data.([]byte))), nil
}

// testRegistry gives the blob, and counts what it gave.
type testRegistry struct {
	data     []byte
	noRanges bool
	opened   chan struct{} // nil, or closed when it may give the blob
	bytes    atomic.Int64
	fail     atomic.Pointer[error]
}

func (g *testRegistry) Range(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	if g.noRanges {
		return nil, ErrNoRanges
	}
	return g.readRange(ctx, offset, length)
}

func (g *testRegistry) OpenFrom(ctx context.Context, offset int64) (io.ReadCloser, error) {
	return g.readRange(ctx, offset, int64(len(g.data))-offset)
}

func (g *testRegistry) readRange(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	if g.opened != nil {
		select {
		case <-g.opened:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := g.fail.Load(); err != nil {
		return nil, *err
	}
	return io.NopCloser(io.TeeReader(bytes.NewReader(g.data[offset:offset+length]), (*counter)(&g.bytes))), nil
}

type counter atomic.Int64

func (c *counter) Write(b []byte) (int, error) {
	(*atomic.Int64)(c).Add(int64(len(b)))
	return len(b), nil
}
