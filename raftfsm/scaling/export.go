package scaling

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"pinion/raftfsm/label"
)

// maxPath bounds the path of exported metrics.
const maxPath = 256

// ExportPort returns the port and path at which a container with these labels exports its metrics, port 0 for nowhere; an error when they do not say it.
func ExportPort(labels map[string]string) (port int, path string, err error) {
	text, given := labels[label.MetricPort]
	path = cmp.Or(labels[label.MetricPath], "/metrics")
	if !strings.HasPrefix(path, "/") || len(path) > maxPath || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return 0, "", fmt.Errorf("%s must be a path of %d printable characters at most, such as /metrics, not %.99q", label.MetricPath, maxPath, path)
	}
	if !given {
		return 0, path, nil
	}
	if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
		return 0, "", fmt.Errorf("%s must be a port of the container, 1 to 65535, not %.99q", label.MetricPort, text)
	}
	return port, path, nil
}
