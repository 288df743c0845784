package dispatch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// Lists, reasons, metrics and command lines show the names of hosts: one that does something there is refused, and says what to do.
func TestAHostWithANameThatIsNoneDoesNotJoin(t *testing.T) {
	b, state := newBackend(t)
	for _, name := range []string{"", "-rf", ".", "gpu 1", "gpu-1\n", "gpu\x00", "gpü", "<script>", "a/b", "a:1", "$(id)", "'; drain", "\x1b[2J", strings.Repeat("a", 254)} {
		before := state.View().Index()
		if _, err := b.Register(t.Context(), Registration{Host: spec.Host{ID: "new", Name: name, Cluster: "default"}}); err == nil || !strings.Contains(err.Error(), "--name") || state.View().Index() != before {
			t.Errorf("%q: %v", name, err)
		}
	}
	for i, name := range []string{"a", "gpu-1.lab.example", "GPU_1", strings.Repeat("a", 253)} {
		if _, err := b.Register(t.Context(), Registration{Host: spec.Host{ID: fmt.Sprint("host", i), Name: name, Cluster: "default", RegisteredAt: time.Unix(1, 0)}}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
