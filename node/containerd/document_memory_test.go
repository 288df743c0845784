package containerd_test

import (
	"math/rand/v2"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"testing"
)

// A document is as large as it looks: one of 1 MiB that stands for hundreds of thousands of layers, manifests or steps is refused before anything decodes
// it, however many are pulled at once.
func TestADocumentTakesNoMoreMemoryThanItsText(t *testing.T) {
	h := newHost(t)
	for name, lie := range map[string]documentLie{
		"a manifest": func(o *origin) { o.repeat(map[string]any{}, 300_000); o.serveManifest(o.manifest) },
		"an index":   func(o *origin) { o.serveIndex(repeated(map[string]any{}, 300_000)) },
		"a configuration": func(o *origin) {
			o.config["history"] = repeated(map[string]any{}, 300_000)
			o.serveConfig(raw(o.config))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(rand.New(rand.NewPCG(1, 1)))
			lie(o)
			server := httptest.NewServer(o)
			defer server.Close()
			o.self = strings.TrimPrefix(server.URL, "http://")
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			_, err := h.runtime.Pull(t.Context(), o.self+"/some/image:1", nil)
			goruntime.ReadMemStats(&after)
			took := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%d MiB: %v", took, err)
			if err == nil || !strings.Contains(err.Error(), "too many elements") {
				t.Errorf("it is not refused for its elements: %v", err)
			}
			if took > 32 {
				t.Errorf("a pull allocates %d MiB", took)
			}
		})
	}
}
