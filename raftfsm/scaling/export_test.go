package scaling

import (
	"testing"

	"pinion/raftfsm/label"
)

func TestWhereAContainerExportsItsMetrics(t *testing.T) {
	for _, c := range []struct {
		port, path string
		wantPort   int
		wantPath   string
		ok         bool
	}{
		{"", "", 0, "/metrics", true}, {"8000", "", 8000, "/metrics", true}, {"8000", "/stats", 8000, "/stats", true},
		{"0", "", 0, "", false}, {"65536", "", 0, "", false}, {"web", "", 0, "", false}, {"8000", "stats", 0, "", false}, {"8000", "/a b", 0, "", false},
	} {
		labels := map[string]string{}
		if c.port != "" {
			labels[label.MetricPort] = c.port
		}
		if c.path != "" {
			labels[label.MetricPath] = c.path
		}
		if port, path, err := ExportPort(labels); port != c.wantPort || path != c.wantPath || (err == nil) != c.ok {
			t.Errorf("%v: %d %q %v", labels, port, path, err)
		}
	}
}
