// Package tool is the table of the programs that travel inside the pinion binary: the builder makes them, and the bill of materials and
// the check for vulnerabilities look into them.
package tool

import "fmt"

// Tool is one program of the bundle.
type Tool struct {
	Name    string // path below Target.Tools
	Package string // import path, or a directory of this repository
	Tags    string
	LDFlags string // beside -s -w
	CGo     bool
	// VersionVariable is the linker's name of the variable that holds the version; empty when the program knows it by itself.
	VersionVariable string
	Module          string // whose version that is
}

const (
	containerd = "github.com/containerd/containerd/v2"
	plugins    = "github.com/containernetworking/plugins/plugins/"
	runc       = "github.com/opencontainers/runc"
)

// All is what the bundle holds, in the order in which it is built and packed.
//
// containerd goes without the snapshotters that need cgo or a special file system, and without the Kubernetes API (CRI),
// which is a fifth of it and which Pinion never opens. runc is linked statically with libseccomp, so that it runs on
// hosts that lack the library. pinion-nvml may be neither static (it loads the driver's library) nor bound at load time
// (a driver older than the helper lacks some of its symbols).
var All = []Tool{
	{Name: "containerd", Package: containerd + "/cmd/containerd", Tags: "netgo osusergo no_btrfs no_zfs no_devmapper no_cri no_tracing",
		Module: containerd, VersionVariable: containerd + "/version.Version"},
	{Name: "containerd-shim-runc-v2", Package: containerd + "/cmd/containerd-shim-runc-v2", Tags: "netgo osusergo no_grpc",
		Module: containerd, VersionVariable: containerd + "/version.Version"},
	{Name: "runc", Package: runc, Tags: "netgo osusergo seccomp", LDFlags: "-linkmode external -extldflags -static", CGo: true, Module: runc},
	{Name: "cni/bridge", Package: plugins + "main/bridge"},
	{Name: "cni/host-local", Package: plugins + "ipam/host-local"},
	{Name: "cni/loopback", Package: plugins + "main/loopback"},
	{Name: "cni/portmap", Package: plugins + "meta/portmap"},
	{Name: "pinion-logger", Package: "./node/logs/pinion-logger"},
	{Name: "pinion-entrypoint", Package: "./node/containerd/pinion-entrypoint"},
	{Name: "pinion-nvml", Package: "./gpu/nvml/pinion-nvml", LDFlags: "-extldflags=-Wl,-z,lazy", CGo: true},
}

// IsLocal reports whether the tool's source is in this repository.
func (t Tool) IsLocal() bool { return t.Package[0] == '.' }

// LinkFlags are the linker's flags; version is empty for tools that need none.
func (t Tool) LinkFlags(version string) string {
	flags := "-s -w"
	if t.LDFlags != "" {
		flags += " " + t.LDFlags
	}
	if t.VersionVariable != "" {
		flags += fmt.Sprintf(" -X %s=%s", t.VersionVariable, version)
	}
	return flags
}
