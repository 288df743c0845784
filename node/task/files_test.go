package task

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/node/runtime"
	"pinion/node/volume"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/volumeroot"
)

func TestNameServersOnLoopbackAreLeftOut(t *testing.T) {
	got := dropLoopbackServers("# comment\nnameserver 127.0.0.53\nnameserver ::1\nnameserver 10.0.0.2\nsearch lan\noptions edns0")
	if want := "# comment\nnameserver 10.0.0.2\nsearch lan\noptions edns0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNameFilesByNetworkMode(t *testing.T) {
	defer func(h string, r []string) { hostHostsPath, hostResolvPaths = h, r }(hostHostsPath, hostResolvPaths)
	host := t.TempDir()
	hostHostsPath, hostResolvPaths = filepath.Join(host, "hosts"), []string{filepath.Join(host, "servers"), filepath.Join(host, "resolv")}
	write(t, hostHostsPath, "10.0.0.1 box\n")
	write(t, hostResolvPaths[0], "nameserver 10.0.0.2\n")
	write(t, hostResolvPaths[1], "nameserver 127.0.0.53\n")
	for mode, want := range map[string]struct{ hosts, resolv string }{
		runtime.NetworkBridge: {"172.31.0.5\tweb", "nameserver 10.0.0.2"},
		runtime.NetworkAwsvpc: {"172.31.0.5\tweb", "nameserver 10.0.0.2"},
		runtime.NetworkHost:   {"10.0.0.1 box", "nameserver 127.0.0.53"},
		runtime.NetworkNone:   {"127.0.1.1\tweb", ""},
	} {
		address := ""
		if runtime.HasNamespace(mode) {
			address = "172.31.0.5"
		}
		files, err := writeEtcFiles(t.TempDir(), mode, &spec.ContainerDefinition{Hostname: "web"}, address)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, files.hosts); !strings.Contains(got, want.hosts) {
			t.Errorf("%s: hosts is %q", mode, got)
		}
		if got := read(t, files.resolv); strings.TrimSpace(got) != want.resolv {
			t.Errorf("%s: resolv.conf is %q", mode, got)
		}
	}
}

func TestTheDefinitionsOwnNames(t *testing.T) {
	defer func(r []string) { hostResolvPaths = r }(hostResolvPaths)
	hostResolvPaths = []string{filepath.Join(t.TempDir(), "resolv")}
	write(t, hostResolvPaths[0], "nameserver 10.0.0.2\nsearch lab\noptions ndots:2\n")
	def := &spec.ContainerDefinition{
		Hostname: "web", ExtraHosts: []spec.ExtraHost{{Hostname: "db", IPAddress: "10.0.0.9"}},
		DNSServers: []string{"1.1.1.1", "9.9.9.9"}, DNSSearchDomains: []string{"a.example", "b.example"},
	}
	files, err := writeEtcFiles(t.TempDir(), runtime.NetworkBridge, def, "172.31.0.5")
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, files.hosts); !strings.HasSuffix(got, "172.31.0.5\tweb\n10.0.0.9\tdb\n") {
		t.Errorf("hosts is %q", got)
	}
	want := "options ndots:2\nnameserver 1.1.1.1\nnameserver 9.9.9.9\nsearch a.example b.example\n"
	if got := read(t, files.resolv); got != want {
		t.Errorf("resolv.conf is %q, want %q", got, want)
	}
}

func TestVolumes(t *testing.T) {
	dir, given := t.TempDir(), t.TempDir()
	host := filepath.Join(given, "new", "data")
	roots, err := volume.Open([]volumeroot.Root{{Path: given}}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := newTaskDir(dir, "task")
	volumes, err := s.createVolumes([]spec.Volume{
		{Name: "../../etc"}, {Name: "data", Host: &spec.HostVolume{SourcePath: host}}, {Name: "more", Host: &spec.HostVolume{}},
	}, roots)
	if err != nil {
		t.Fatal(err)
	}
	file, err := volumes["data"].Host.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if opened, err := file.Stat(); err != nil || !sameFile(opened, host) {
		t.Errorf("a host volume is %v, %v", opened, err)
	}
	for _, name := range []string{"../../etc", "more"} {
		if !strings.HasPrefix(volumes[name].Path, filepath.Join(dir, "tasks", "task")+"/") {
			t.Errorf("scratch volume %q is at %s, outside the task's directory", name, volumes[name].Path)
		}
		if info, err := os.Stat(volumes[name].Path); err != nil || info.Mode().Perm() != 0o777 {
			t.Errorf("scratch volume %q: %v, %v", name, info, err)
		}
	}
	if err := s.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(host); err != nil {
		t.Errorf("the host's directory went with the task: %v", err)
	}
	for _, path := range []string{"relative", "/", "/etc", given + "/../x", dir} {
		if _, err := s.createVolumes([]spec.Volume{{Name: "x", Host: &spec.HostVolume{SourcePath: path}}}, roots); err == nil {
			t.Errorf("%s was accepted", path)
		}
		if _, err := s.createVolumes([]spec.Volume{{Name: "x", Host: &spec.HostVolume{SourcePath: path}}}, nil); err == nil {
			t.Errorf("%s was accepted without directories of the host", path)
		}
	}
}

// A shared volume is the same directory for every task of the host that names it. One that a task may not make has to be there.
func TestASharedVolumeOutlivesItsTask(t *testing.T) {
	given := t.TempDir()
	roots, err := volume.Open([]volumeroot.Root{{Name: "models", Path: given}}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	roots.OnShared(func() { told++ })
	makes, dir := true, t.TempDir()
	shared := func(task, name string, makes *bool) (*os.File, error) {
		made, err := newTaskDir(dir, task).createVolumes([]spec.Volume{{Name: name, Docker: &volumeroot.DockerConfiguration{Scope: volumeroot.ScopeShared, Autoprovision: makes}}}, roots)
		if err != nil {
			return nil, err
		}
		return made[name].Host.Open()
	}
	if _, err := shared("first", "cache", nil); err == nil || !strings.Contains(err.Error(), "autoprovision") {
		t.Errorf("a volume that nobody has made: %v", err)
	}
	var opened []os.FileInfo
	for task, makes := range map[string]*bool{"second": &makes, "third": &makes} {
		file, err := shared(task, "cache", makes)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		opened = append(opened, info)
		if err := newTaskDir(dir, task).remove(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shared("fourth", "cache", nil); err != nil || !os.SameFile(opened[0], opened[1]) || told != 1 || strings.Join(roots.Shared(), " ") != "cache" {
		t.Errorf("%v, %v, told %d times of %v", err, opened, told, roots.Shared())
	}
	if file, err := shared("fifth", "models", nil); err != nil {
		t.Errorf("a volume that the operator names: %v", err)
	} else if info, err := file.Stat(); err != nil || !sameFile(info, given) {
		t.Errorf("it is another directory: %v", err)
	}
	for _, name := range []string{"..", ".", "", "a/b", "/etc"} {
		if _, err := shared("sixth", name, &makes); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}

func sameFile(opened os.FileInfo, path string) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(opened, info)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
