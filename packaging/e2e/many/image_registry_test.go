package many

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/time/rate"

	"pinion/node/containerd/containerdtest"
)

// slowRegistry is a registry whose link carries so many bytes a second for all hosts together, which counts what it gives of blobs,
// and which can be off.
type slowRegistry struct {
	next  http.Handler
	link  *rate.Limiter
	given atomic.Int64
	off   atomic.Bool
}

// ServeHTTP answers a host.
func (g *slowRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.off.Load() {
		panic(http.ErrAbortHandler)
	}
	if strings.Contains(r.URL.Path, "/blobs/") {
		w = &slowWriter{w, r.Context(), g}
	}
	g.next.ServeHTTP(w, r)
}

// slowWriter writes at the rate of the link.
type slowWriter struct {
	http.ResponseWriter
	ctx      context.Context
	registry *slowRegistry
}

const linkBurst = 64 << 10

// Write gives the link's share.
func (w *slowWriter) Write(b []byte) (written int, err error) {
	for len(b) > 0 && err == nil {
		if w.registry.off.Load() {
			panic(http.ErrAbortHandler)
		}
		n := min(len(b), linkBurst)
		if err = w.registry.link.WaitN(w.ctx, n); err != nil {
			return written, err
		}
		w.registry.given.Add(int64(n))
		n, err = w.ResponseWriter.Write(b[:n])
		written, b = written+n, b[n:]
	}
	return written, err
}

// serveSlowImages makes a slow registry the one of the domain images.test for all hosts.
func (p *pool) serveSlowImages(t *testing.T, bytesPerSecond int, images map[string]v1.Image) *slowRegistry {
	t.Helper()
	registry := &slowRegistry{link: rate.NewLimiter(rate.Limit(bytesPerSecond), linkBurst)}
	address := containerdtest.Serve(t, func(next http.Handler) http.Handler {
		registry.next = next
		return registry
	}, images)
	p.serveDomain(t, "images.test", registryPort+1, address)
	return registry
}

// randomImage is an image with a shell whose layers each have a file of random bytes, and the digest of all of them together.
func randomImage(t *testing.T, seed byte, layers, size int) (image v1.Image, sum string, total int64) {
	t.Helper()
	image = containerdtest.Busybox(t)
	all := sha256.New()
	for i := range layers {
		file := func() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{seed, byte(i)}), int64(size)) }
		_, err := io.Copy(all, file())
		must(t, err)
		open := func() (io.ReadCloser, error) { return fileLayer(fmt.Sprintf("data-%02d", i), file(), size), nil }
		layer, err := tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.NoCompression)) // nothing compresses it
		must(t, err)
		image, err = mutate.AppendLayers(image, layer)
		must(t, err)
	}
	found, err := image.Layers()
	must(t, err)
	for _, layer := range found {
		n, err := layer.Size()
		must(t, err)
		total += n
	}
	return image, fmt.Sprintf("%x", all.Sum(nil)), total
}

// fileLayer is an archive of one file, which is read as the archive is.
func fileLayer(name string, file io.Reader, size int) io.ReadCloser {
	archive, to := io.Pipe()
	go func() {
		w := tar.NewWriter(to)
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(size)})
		if err == nil {
			_, err = io.Copy(w, file)
		}
		if err == nil {
			err = w.Close()
		}
		to.CloseWithError(err)
	}()
	return archive
}

// spoilBlobs changes a byte in the middle of every large blob that a host has on its disk, and returns how many there were.
func spoilBlobs(t *testing.T, dir string) (spoiled int) {
	t.Helper()
	blobs, err := filepath.Glob(filepath.Join(dir, "containerd/root/io.containerd.content.v1.content/blobs/sha256/*"))
	must(t, err)
	for _, path := range blobs {
		info, err := os.Stat(path)
		must(t, err)
		if info.Size() < 1<<20 {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		must(t, err)
		one := make([]byte, 1)
		_, err = f.ReadAt(one, info.Size()/2)
		must(t, err)
		one[0] ^= 1
		_, err = f.WriteAt(one, info.Size()/2)
		must(t, err)
		must(t, f.Close())
		spoiled++
	}
	return spoiled
}
