package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// directories are what a host is put together from, each with those that it may import. They meet in packaging/host.
var directories = map[string]string{
	"api":     "raftfsm gpu packaging/atomicfile packaging/backoff packaging/clientnet packaging/jsonshape packaging/signature",
	"server":  "raftfsm gpu packaging/atomicfile packaging/backoff packaging/clientnet packaging/failpoint packaging/heap packaging/jsonshape packaging/keystore packaging/tick",
	"node":    "raftfsm/spec raftfsm/blob raftfsm/envfile raftfsm/execcommand raftfsm/filesystem raftfsm/firelens raftfsm/gpufault raftfsm/gpuuse raftfsm/hostport raftfsm/iam raftfsm/iplease raftfsm/isolation raftfsm/label raftfsm/linux raftfsm/logdriver raftfsm/logfilter raftfsm/metric raftfsm/partition raftfsm/rendezvous raftfsm/tasknetwork raftfsm/traffic raftfsm/valuefrom raftfsm/volumeroot raftfsm/lazyregexp gpu packaging/atomicfile packaging/backoff packaging/failpoint packaging/heap packaging/jsonshape packaging/tick",
	"raftfsm": "gpu",
	"gpu":     "packaging/backoff",
}

// besides are the folders beside those directories; the longest that fits counts. The benches measure the directories one by one.
var besides = map[string]string{
	"main.go":           "api/cli",
	"program_linux.go":  "packaging packaging/host packaging/upgrade api/cli gpu/sim",
	"program_other.go":  "packaging api/cli",
	"packaging":         "packaging api/client",
	"packaging/doctor":  "packaging api/client node",
	"packaging/upgrade": "packaging/atomicfile packaging/signature api/upgrade",
	"packaging/otlp":    "packaging/tick server/tracer",
	"packaging/host":    "packaging api server node raftfsm gpu",
	"packaging/bench":   "packaging api server node raftfsm gpu",
}

// floors are the packages of each directory from the top down; "." is the directory's own. A package may import those of lower floors.
// Those of one floor never import one another: what one needs of another is an interface that it declares. A name covers
// the packages below it that have no floor of their own, and a package may be listed before it exists.
var floors = map[string][]string{
	"api": {
		". cli",
		"cloudwatch rest/images",
		"ecs cloudwatchlogs events rest metrics elb autoscaling ssm secretsmanager web",
		"ecs/daemon",
		"ecs/capacity ecs/account",
		"client ecs/call secrets",
		"exec upgrade login",
		"leader",
		"openid",
		"auth",
		"ecs/scaling",
		"ecs/taskdef ecs/view ecs/servicedef ecs/placement",
		"ecs/paging",
		"ecs/arn ecs/tags ecs/types",
		"ecs/field ecs/internal",
		"httpx sigv4 openapi query",
		"wire audit exec/datachannel exec/stream",
	},
	"server": {
		".",
		"dryrun recovery",
		"scheduler orchestrator membership dispatch admission backup history",
		"liveness tracker prefetch",
		"consensus",
		"rpc",
		"peer seal metrics exporter",
		"pki store schedule id tracer",
	},
	"node": {
		".",
		"secrets metadata hostdevice envfile filesystem logforward exporter",
		"firelens",
		"task measure virtualip",
		"containerd network logs proxy acme names target runtime/fake runtime/runtimetest",
		"containerd/daemon containerd/images containerd/cgroup gpulock proxy/http1",
		"runtime",
		"datadir volume gpuhealth gpuusage distribution",
		"machine filetree",
	},
	"raftfsm": {
		"routing raftfsmtest",
		".",
		"sealing issuer",
		"credential",
		"alarm loadbalancer loggroup jointoken capacityprovider accountsetting acme taskset virtualip secret image taskrole team ca",
		"scaling",
		"command",
		"execcommand query tally ended taskupdate change snapshot table ledger",
		"service teamusage accesskey isolation taskenv",
		"codec spec metric changelog watch sortkey",
		"logdriver iplease gpufault gpuchoice imagepolicy",
		"compact traffic label linux valuefrom hostport envfile filesystem firelens quarantine partition gpuuse blob",
		"volumeroot",
		"logfilter",
		"lazyregexp re2 rendezvous iam tasknetwork",
	},
	"gpu": {
		"nvml sim mps visible",
		"nvml/protocol xid",
		".",
		"mig",
	},
}

// TestImportsGoDownward holds every file to the tables above. Tests may also import raftfsm and gpu, and whatever is in their
// own directory; those of packaging, which drive the whole program, whatever there is.
func TestImportsGoDownward(t *testing.T) {
	found := violations{}
	eachFile(t, func(f file) {
		ours, _ := f.imports()
		for _, imported := range ours {
			if f.isTest() && f.testMayImport(imported) {
				continue
			}
			if wrong := f.wrongImport(imported); wrong != "" {
				found[f.pkg+" imports "+imported] = fmt.Sprintf("%s imports %s: %s", f.path, imported, wrong)
			}
		}
	})
	found.check(t)
}

// TestEveryPackageHasAFloor also holds those that import nothing of their directory, and that nothing of it imports.
func TestEveryPackageHasAFloor(t *testing.T) {
	eachFile(t, func(f file) {
		if directory := directoryOf(f.path); floors[directory] != nil && !f.isTest() {
			if _, name := floorOf(directory, f.pkg); name == "" {
				t.Errorf("%s has no floor in directory %s; give it one", f.pkg, directory)
			}
		}
	})
}

func (f file) testMayImport(imported string) bool {
	directory := directoryOf(f.path)
	return directory == "packaging" || slices.Contains([]string{directory, "raftfsm", "gpu"}, directoryOf(imported))
}

// wrongImport says what is wrong with an import of ours; empty when nothing is.
func (f file) wrongImport(imported string) string {
	directory := directoryOf(f.path)
	if allowed, isDirectory := directories[directory]; !isDirectory || directory != directoryOf(imported) {
		if !isDirectory {
			line := longest(f.path, slices.Collect(maps.Keys(besides))...)
			if line == "" {
				return fmt.Sprintf("%s is none of the directories and has no line in besides", directory)
			}
			allowed = besides[line]
		}
		if longest(imported, strings.Fields(allowed)...) == "" {
			return "it may import only " + allowed
		}
		return ""
	}
	return wrongFloor(directory, f.pkg, imported)
}

// wrongFloor says what is wrong with an import inside one directory.
func wrongFloor(directory, from, to string) string {
	above, importer := floorOf(directory, from)
	below, imported := floorOf(directory, to)
	switch {
	case importer == "" || imported == "":
		return fmt.Sprintf("%s or %s has no floor in directory %s; give it one", from, to, directory)
	case importer == imported || above < below:
		return ""
	case above == below:
		return "they are on one floor; declare an interface of what is needed"
	}
	return "it is on a floor above"
}

// floorOf finds the floor of a package, 0 at the top, and the name on it that covers the package.
func floorOf(directory, pkg string) (floor int, name string) {
	for i, names := range floors[directory] {
		for _, n := range strings.Fields(names) {
			line := directory + "/" + n
			if n == "." && pkg == directory || n != "." && within(line, pkg) && len(line) > len(name) {
				floor, name = i, line
			}
		}
	}
	return floor, name
}

// longest is the longest of the folders that the path is in, empty when it is in none.
func longest(path string, lines ...string) (found string) {
	for _, line := range lines {
		if within(line, path) && len(line) > len(found) {
			found = line
		}
	}
	return found
}

func within(line, path string) bool { return path == line || strings.HasPrefix(path, line+"/") }

func directoryOf(path string) string {
	directory, _, _ := strings.Cut(path, "/")
	return directory
}
