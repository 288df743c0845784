package main

import (
	"fmt"
	"os"
)

// tool is one program of the bundle.
type tool struct {
	name    string // path below the directory of the tools
	pkg     string // import path, or a directory of this repository
	tags    string
	ldflags string // beside -s -w
	cgo     bool
	// version is the linker's name of the variable that holds the version; empty when the program knows it by itself.
	version string
	module  string // whose version that is
}

const (
	containerd = "github.com/containerd/containerd/v2"
	plugins    = "github.com/containernetworking/plugins/plugins/"
	runc       = "github.com/opencontainers/runc"
)

// allTools is what the bundle holds, in the order in which it is built and packed.
//
// containerd goes without the snapshotters that need cgo or a special file system, and without the Kubernetes door,
// which is a fifth of it and which Pinion never opens. runc is linked statically with libseccomp, so that it runs on
// hosts that lack the library. pinion-nvml may be neither static (it loads the driver's library) nor bound at load time
// (a driver older than the helper lacks some of its symbols).
var allTools = []tool{
	{name: "containerd", pkg: containerd + "/cmd/containerd", tags: "netgo osusergo no_btrfs no_zfs no_devmapper no_cri no_tracing",
		module: containerd, version: containerd + "/version.Version"},
	{name: "containerd-shim-runc-v2", pkg: containerd + "/cmd/containerd-shim-runc-v2", tags: "netgo osusergo no_grpc",
		module: containerd, version: containerd + "/version.Version"},
	{name: "runc", pkg: runc, tags: "netgo osusergo seccomp", ldflags: "-linkmode external -extldflags -static", cgo: true, module: runc},
	{name: "cni/bridge", pkg: plugins + "main/bridge"},
	{name: "cni/host-local", pkg: plugins + "ipam/host-local"},
	{name: "cni/loopback", pkg: plugins + "main/loopback"},
	{name: "cni/portmap", pkg: plugins + "meta/portmap"},
	{name: "pinion-logger", pkg: "./node/logs/pinion-logger"},
	{name: "pinion-nvml", pkg: "./gpu/nvml/pinion-nvml", ldflags: "-extldflags=-Wl,-z,lazy", cgo: true},
}

// isLocal says that the tool's source is in this repository.
func (t tool) isLocal() bool { return t.pkg[0] == '.' }

// linkFlags are the linker's flags; version is empty for tools that need none.
func (t tool) linkFlags(version string) string {
	flags := "-s -w"
	if t.ldflags != "" {
		flags += " " + t.ldflags
	}
	if t.version != "" {
		flags += fmt.Sprintf(" -X %s=%s", t.version, version)
	}
	return flags
}

// checkRepository refuses to run where the sources of our own tools are not.
func checkRepository() error {
	for _, t := range allTools {
		if _, err := os.Stat(t.pkg); t.isLocal() && err != nil {
			return fmt.Errorf("the source of %s is missing; run this from the root of the repository: %w", t.name, err)
		}
	}
	return nil
}
