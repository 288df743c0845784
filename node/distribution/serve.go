package distribution

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"pinion/raftfsm/blob"
)

const (
	// uploadsOfHost bounds the pieces that one other host reads from this one at a time.
	uploadsOfHost = 8
	// uploadBurst is the number of bytes that go out at once, uploadTimeout the time that they may take.
	uploadBurst   = 256 << 10
	uploadTimeout = 30 * time.Second
)

// Serve answers another host of the pool, which the caller has authenticated, with bytes of the blob that the path's wildcard "digest"
// names: those of its Range header, "bytes=FIRST-LAST", which it must have. It answers 404 when the blob is not here, or not yet, and
// 429 when others get as much as they may.
func (x *BlobPeer) Serve(w http.ResponseWriter, r *http.Request, host string) {
	name, err := digest.Parse(r.PathValue("digest"))
	if err != nil {
		http.Error(w, "the path names no digest: "+err.Error(), http.StatusBadRequest)
		return
	}
	offset, length, err := parseRange(r.Header.Get("Range"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	free, ok := x.uploads.begin(host)
	if !ok {
		http.Error(w, blob.ErrBusy.Error(), http.StatusTooManyRequests)
		return
	}
	defer free()
	from, size, err := x.openLocal(r.Context(), name, offset, length)
	if err != nil {
		status := http.StatusInternalServerError
		if errors.Is(err, blob.ErrNotHere) {
			status = http.StatusNotFound
		}
		http.Error(w, err.Error(), status)
		return
	}
	defer from.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", offset, offset+length-1, size))
	w.WriteHeader(http.StatusPartialContent)
	if err := x.send(r.Context(), w, io.NewSectionReader(from, offset, length)); err != nil {
		x.config.Log.Debug("a host did not get all that it asked for", "hostId", host, "blob", name, "error", err)
	}
}

// openLocal opens a blob on this host: in the store, or the pieces of one that is arriving.
func (x *BlobPeer) openLocal(ctx context.Context, name digest.Digest, offset, length int64) (ReaderAt, int64, error) {
	if d := x.shared(name); d != nil && d.serve(offset, length) {
		return arriving{d.file, d.served}, d.size, nil
	}
	from, size, err := x.config.Store.ReaderAt(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	if offset+length > size {
		from.Close()
		return nil, 0, fmt.Errorf("%w: the blob has %d bytes", blob.ErrNotHere, size)
	}
	return from, size, nil
}

// arriving reads a blob that is not in the store yet; its file is the download's.
type arriving struct {
	file io.ReaderAt
	end  func()
}

func (a arriving) ReadAt(p []byte, offset int64) (int, error) { return a.file.ReadAt(p, offset) }

func (a arriving) Close() error {
	a.end()
	return nil
}

// send writes at the rate of this host. A host that takes nothing is given up.
func (x *BlobPeer) send(ctx context.Context, w http.ResponseWriter, from io.Reader) error {
	out := http.NewResponseController(w)
	buffer := make([]byte, uploadBurst)
	for {
		n, err := io.ReadFull(from, buffer)
		if n > 0 && x.upload != nil {
			if err := x.upload.WaitN(ctx, n); err != nil {
				return err
			}
		}
		if n > 0 {
			_ = out.SetWriteDeadline(time.Now().Add(uploadTimeout)) // a writer without deadlines is one of a test
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// parseRange reads "bytes=FIRST-LAST".
func parseRange(header string) (offset, length int64, err error) {
	first, last, ok := strings.Cut(strings.TrimPrefix(header, "bytes="), "-")
	offset, err1 := strconv.ParseInt(first, 10, 64)
	end, err2 := strconv.ParseInt(last, 10, 64)
	if !ok || !strings.HasPrefix(header, "bytes=") || err1 != nil || err2 != nil || offset < 0 || end < offset || end >= blob.MaxSize {
		return 0, 0, fmt.Errorf("the header Range must be bytes=FIRST-LAST, not %.100q", header)
	}
	return offset, end - offset + 1, nil
}

// uploads counts the pieces that hosts read.
type uploads struct {
	mu     sync.Mutex
	all    int
	byHost map[string]int
}

// begin counts one more; false: there are enough.
func (u *uploads) begin(host string) (free func(), ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all >= maxUploads || u.byHost[host] >= uploadsOfHost {
		return nil, false
	}
	if u.byHost == nil {
		u.byHost = map[string]int{}
	}
	u.all++
	u.byHost[host]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.all--
		if u.byHost[host]--; u.byHost[host] == 0 {
			delete(u.byHost, host)
		}
	}, true
}
