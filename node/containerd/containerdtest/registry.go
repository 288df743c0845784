package containerdtest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const goarch = runtime.GOARCH

// Registry serves images by name ("team/app:1") on 127.0.0.1 until the test ends, and returns its host:port.
func Registry(t testing.TB, images map[string]v1.Image) (addr string) {
	t.Helper()
	return Serve(t, nil, images)
}

// Serve is Registry with guard around its handler: after the images are in place, guard sees every request.
func Serve(t testing.TB, guard func(http.Handler) http.Handler, images map[string]v1.Image) (addr string) {
	t.Helper()
	var handler http.Handler = registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithBlobHandler(newBlobFiles(t.TempDir())))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	addr = strings.TrimPrefix(server.URL, "http://")
	for ref, img := range images {
		target, err := name.ParseReference(addr+"/"+ref, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(target, img); err != nil {
			t.Fatal(err)
		}
	}
	if guard != nil {
		handler = guard(handler)
	}
	return addr
}

// blobFiles keeps blobs in files, so that large images take no memory. Unlike registry.NewDiskBlobHandler it reads none to the end for each part of it that
// is asked for.
type blobFiles struct {
	registry.BlobHandler
	registry.BlobPutHandler
	dir string
}

func newBlobFiles(dir string) blobFiles {
	files := registry.NewDiskBlobHandler(dir)
	return blobFiles{files, files.(registry.BlobPutHandler), dir}
}

// Stat is the size of a blob.
func (b blobFiles) Stat(_ context.Context, _ string, h v1.Hash) (int64, error) {
	info, err := os.Stat(filepath.Join(b.dir, h.Algorithm, h.Hex))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, registry.ErrNotFound
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
