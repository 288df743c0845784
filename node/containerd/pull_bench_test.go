package containerd_test

import (
	"archive/tar"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/time/rate"

	"pinion/node/containerd/containerdtest"
)

const (
	benchLayers     = 5
	benchLayer      = 60 << 20 // bytes
	benchConnection = 12 << 20 // bytes a second
)

// BenchmarkPull compares the pull of 300 MB in 5 layers from a registry that gives each connection 12 MB a second with that of
// containerd's client with four downloads at a time, in turns. "x client" is the ratio of the medians.
func BenchmarkPull(b *testing.B) {
	h := newHost(b)
	address := containerdtest.Serve(b, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/blobs/") {
				w = &cappedWriter{w, r, rate.NewLimiter(benchConnection, 256<<10)}
			}
			next.ServeHTTP(w, r)
		})
	}, map[string]v1.Image{"app:1": layeredImage(b)})
	client, err := containerd.New(h.daemon.Address(), containerd.WithDefaultNamespace(h.config.Namespace))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	var ours, clients []time.Duration
	for b.Loop() {
		began := time.Now()
		h.pull(address + "/app:1")
		ours = append(ours, time.Since(began))
		removeImages(b, client, h.config.Namespace)
		began = time.Now()
		pullWithClient(b, client, h, address+"/app:1")
		clients = append(clients, time.Since(began))
		removeImages(b, client, h.config.Namespace)
	}
	b.ReportMetric(median(ours).Seconds(), "s/pull")
	b.ReportMetric(median(clients).Seconds(), "s/client")
	b.ReportMetric(float64(median(ours))/float64(median(clients)), "x-client")
}

// pullWithClient pulls as the client's own options have it.
func pullWithClient(b *testing.B, client *containerd.Client, h *host, ref string) {
	ctx := namespaces.WithNamespace(b.Context(), h.config.Namespace)
	_, err := client.Pull(ctx, ref, containerd.WithPullUnpack, containerd.WithPullSnapshotter(h.config.Snapshotter), containerd.WithMaxConcurrentDownloads(4),
		containerd.WithResolver(docker.NewResolver(docker.ResolverOptions{Hosts: docker.ConfigureDefaultRegistries(docker.WithPlainHTTP(docker.MatchAllHosts))})))
	if err != nil {
		b.Fatal(err)
	}
}

func removeImages(b *testing.B, client *containerd.Client, namespace string) {
	ctx := namespaces.WithNamespace(b.Context(), namespace)
	all, err := client.ImageService().List(ctx)
	if err != nil {
		b.Fatal(err)
	}
	for _, i := range all {
		if err := client.ImageService().Delete(ctx, i.Name, images.SynchronousDelete()); err != nil {
			b.Fatal(err)
		}
	}
}

// cappedWriter is one answer of the registry.
type cappedWriter struct {
	http.ResponseWriter
	request *http.Request
	limit   *rate.Limiter
}

// Write waits for its share.
func (w *cappedWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		part := p[:min(len(p), 64<<10)]
		if err = w.limit.WaitN(w.request.Context(), len(part)); err == nil {
			var written int
			written, err = w.ResponseWriter.Write(part)
			n, p = n+written, p[written:]
		}
	}
	return n, err
}

func layeredImage(b *testing.B) v1.Image {
	b.Helper()
	image := containerdtest.Busybox(b)
	for i := range benchLayers {
		data := make([]byte, benchLayer)
		rand.NewChaCha8([32]byte{byte(i)}).Read(data)
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			var archive bytes.Buffer
			w := tar.NewWriter(&archive)
			if err := w.WriteHeader(&tar.Header{Name: string('a' + rune(i)), Mode: 0o644, Size: benchLayer}); err != nil {
				return nil, err
			}
			_, err := w.Write(data)
			return io.NopCloser(&archive), err
		})
		if err == nil {
			image, err = mutate.AppendLayers(image, layer)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return image
}
