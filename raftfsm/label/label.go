// Package label has the labels of containers (dockerLabels) that mean something to Pinion or to the container runtime.
package label

import (
	"path"
	"slices"
	"strings"
)

// Labels of Pinion's that a container may have.
const (
	MetricPort = "pinion.metric-port" // where it exports metrics of Prometheus
	MetricPath = "pinion.metric-path" // likewise; /metrics unless it is said
	// SecretFiles is the directory in which the container has its secrets as files. Without it they are in its environment.
	SecretFiles = "pinion.secret-files"
)

// closed are directories of a container that no secrets take the place of: what the runtime and Pinion themselves mount there.
var closed = []string{"/proc", "/sys", "/dev", "/run/pinion"}

// ValidSecretFiles reports whether a directory may be the value of SecretFiles: an absolute path that is not the root, and is neither in a directory of
// the runtime's or of Pinion's own, nor has one in it, nor is one that programs cannot do without.
func ValidSecretFiles(dir string) bool {
	if !path.IsAbs(dir) || path.Clean(dir) != strings.TrimSuffix(dir, "/") || slices.Contains([]string{"/", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/usr"}, path.Clean(dir)) {
		return false
	}
	return !slices.ContainsFunc(closed, func(own string) bool {
		return path.Clean(dir) == own || strings.HasPrefix(dir, own+"/") || strings.HasPrefix(own, path.Clean(dir)+"/")
	})
}

// reserved begin the names of labels by which containerd and what is built on it are controlled, and Pinion's own.
var reserved = []string{"containerd.io/", "io.containerd", "io.cri-containerd", "nerdctl/", "io.kubernetes.", "pinion."}

// Reserved reports whether a label means something to the runtime or to Pinion, so that no task definition may set it.
func Reserved(name string) bool {
	if slices.Contains([]string{MetricPort, MetricPath, SecretFiles}, name) {
		return false
	}
	return slices.ContainsFunc(reserved, func(prefix string) bool { return strings.HasPrefix(strings.ToLower(name), prefix) })
}
