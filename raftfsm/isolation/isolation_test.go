package isolation

import (
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pinion/gpu"
	"pinion/raftfsm/envfile"
	"pinion/raftfsm/filesystem"
	"pinion/raftfsm/linux"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/volumeroot"

	"pinion/raftfsm/spec"
)

// asks are definitions that ask for one thing each.
var asks = struct {
	nothing, privileged, hostPID, hostIPC *spec.TaskDefinition
	capability                            func(string) *spec.TaskDefinition
	mount                                 func(source string, readOnly bool) *spec.TaskDefinition
	device                                func(path string) *spec.TaskDefinition
}{
	nothing:    &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "c"}}, IPCMode: "none"},
	privileged: &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "c", Privileged: new(true)}}},
	hostPID:    &spec.TaskDefinition{PIDMode: "host"},
	hostIPC:    &spec.TaskDefinition{IPCMode: "host"},
	capability: func(name string) *spec.TaskDefinition {
		return &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "c", LinuxParameters: &spec.LinuxParameters{Capabilities: &spec.Capabilities{Add: []string{name}}}}}}
	},
	device: func(path string) *spec.TaskDefinition {
		return &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "c", LinuxParameters: &spec.LinuxParameters{Devices: []linux.Device{{HostPath: path}}}}}}
	},
	mount: func(source string, readOnly bool) *spec.TaskDefinition {
		return &spec.TaskDefinition{
			Volumes:    []spec.Volume{{Name: "v", Host: &spec.HostVolume{SourcePath: source}}, {Name: "scratch"}},
			Containers: []spec.ContainerDefinition{{Name: "c", MountPoints: []spec.MountPoint{{SourceVolume: "v", ContainerPath: "/v", ReadOnly: readOnly}}}},
		}
	},
}

var (
	withGPUs    = gpu.Inventory{Devices: []gpu.Device{{UUID: "GPU-0"}}}
	everyPower  = append([]string{spec.AllowPrivileged, spec.AllowHostPID, spec.AllowHostIPC}, linux.CapabilityNames...)
	volumeRoots = []volumeroot.Root{{Path: "/data"}, {Name: "models", Path: "/mnt/models", ReadOnly: true}, {Name: volumeroot.Local}}
)

func TestWhatAHostGivesIsTheWordOfItsOperator(t *testing.T) {
	plain, generous := spec.Host{}, spec.Host{Allow: everyPower, Volumes: volumeRoots}
	gpus, generousGPUs := spec.Host{GPUs: withGPUs}, spec.Host{GPUs: withGPUs, Allow: everyPower, Volumes: volumeRoots}
	blind := spec.Host{GPUs: gpu.Inventory{Problem: "no driver"}, Allow: everyPower}
	const allowed = ""
	for name, c := range map[string]struct {
		definition *spec.TaskDefinition
		host       spec.Host
		byAdmin    bool
		want       string // what the refusal has in it
	}{
		"nothing":                                   {asks.nothing, plain, false, allowed},
		"privileged":                                {asks.privileged, plain, true, "container c is privileged, which this host does not allow: start the host with pinion up --allow privileged"},
		"privileged where it is allowed":            {asks.privileged, generous, false, allowed},
		"privileged beside GPUs, whoever asks":      {asks.privileged, generousGPUs, true, "could reach every GPU of this host"},
		"privileged beside GPUs that nobody sees":   {asks.privileged, blind, true, "could reach every GPU of this host"},
		"the host's processes":                      {asks.hostPID, gpus, true, "--allow host-pid"},
		"the host's processes where it is allowed":  {asks.hostPID, generous, false, allowed},
		"an admin's, beside GPUs":                   {asks.hostPID, generousGPUs, true, allowed},
		"a submit key's, beside GPUs":               {asks.hostPID, generousGPUs, false, "needs an access key of the role admin"},
		"the host's messages":                       {asks.hostIPC, plain, true, "--allow host-ipc"},
		"docker's capabilities":                     {asks.capability("NET_RAW"), gpus, false, allowed},
		"one that stays in the container":           {asks.capability("SYS_PTRACE"), gpus, false, allowed},
		"with the prefix, in lower case":            {asks.capability("cap_ipc_lock"), gpus, false, allowed},
		"the network's administrator":               {asks.capability("NET_ADMIN"), gpus, true, "container c has the capability NET_ADMIN, which this host does not allow: start the host with pinion up --allow NET_ADMIN"},
		"the network's administrator of a submit":   {asks.capability("NET_ADMIN"), generousGPUs, false, "needs an access key of the role admin"},
		"the clock":                                 {asks.capability("SYS_TIME"), plain, true, "--allow SYS_TIME"},
		"the system's administrator beside GPUs":    {asks.capability("SYS_ADMIN"), generousGPUs, true, "could reach every GPU"},
		"raw devices in lower case":                 {asks.capability("cap_sys_rawio"), generousGPUs, true, "could reach every GPU"},
		"everything":                                {asks.capability("ALL"), plain, true, "--allow ALL"},
		"one that nobody knows":                     {asks.capability("SYS_MAGIC"), generous, true, "--allow SYS_MAGIC"},
		"a directory that is given":                 {asks.mount("/data", false), generous, false, allowed},
		"one below it":                              {asks.mount("/data/a/../b", false), generous, false, allowed},
		"one beside it":                             {asks.mount("/database", false), generous, true, "volume v: /database is in no directory that this host gives to tasks: start the host with pinion up --volume /database"},
		"one above it":                              {asks.mount("/", true), generous, true, "--volume /"},
		"a way out of it":                           {asks.mount("/data/../etc", true), generous, true, "--volume /etc"},
		"a directory of a host that gives none":     {asks.mount("/data", true), plain, true, "--volume /data"},
		"by name":                                   {asks.mount("models/llama", true), generous, false, allowed},
		"by the path of a name":                     {asks.mount("/mnt/models/llama", true), generous, false, allowed},
		"by an unknown name":                        {asks.mount("scratch/x", true), generous, true, "this host has no directory by the name scratch: start the host with pinion up --volume scratch=DIR"},
		"a way out of a name":                       {asks.mount("local/../models", false), generous, true, "be read only"},
		"to write where it is given to read":        {asks.mount("models", false), generous, true, "this host gives models=/mnt/models:ro to be read only, and container c writes to it: set readOnly"},
		"the one that every host has":               {asks.mount("local/cache", false), generous, false, allowed},
		"the data directory by the name's own path": {asks.mount("/var/lib/pinion/volumes", false), generous, true, "--volume"},
	} {
		t.Run(name, func(t *testing.T) {
			got := RequirementsOf(c.definition).RefusedBy(&c.host, c.byAdmin)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Devices are those that the operator names, for tasks of every key, and never GPUs.
func TestADeviceIsTheWordOfTheOperator(t *testing.T) {
	generous := spec.Host{Name: "gpu-1", GPUs: withGPUs, Devices: []string{"/dev/fuse", "/dev/infiniband", "/dev/nvidia0", "/dev"}}
	for path, allowed := range map[string]bool{
		"/dev/fuse": true, "/dev/infiniband/uverbs0": true, "/dev/kvm": false, "/dev/fuse2": false, "/dev/nvidia0": false, "/dev/nvidiactl": false, "/dev/infiniband/../nvidia0": false,
	} {
		d := asks.device(path)
		if got := RequirementsOf(d).RefusedBy(&generous, false); (got == "") != allowed || !allowed && (!strings.Contains(got, "pinion up --device "+path) || !strings.Contains(got, "host gpu-1") || !strings.Contains(got, "container c ")) {
			t.Errorf("%s: %q", path, got)
		}
		if got := RequirementsOf(d).RefusedBy(&spec.Host{}, true); got == "" {
			t.Errorf("%s is given by a host that says nothing", path)
		}
	}
}

// A log goes where the operator allows: to other machines, unless the host is told otherwise, and to nothing of the host itself that is not named.
func TestWhereALogGoesIsTheWordOfTheOperator(t *testing.T) {
	remote, named := spec.Host{Name: "gpu-1", Address: "10.0.0.5:7400", LogDestinations: []string{"remote"}}, spec.Host{Name: "gpu-1", LogDestinations: []string{"unix:///dev/log", "tcp://127.0.0.1:601"}}
	for address, hosts := range map[string][2]bool{
		"tcp://logs.example.com:601": {true, false}, "udp://10.0.0.6": {true, false}, "tcp://127.0.0.1:601": {false, true}, "tcp+tls://127.0.0.1:601": {false, true}, "tcp://127.0.0.1:602": {},
		"udp://127.0.0.1:601": {}, "tcp://localhost:601": {}, "tcp://a.localhost:601": {}, "tcp://[::1]:601": {}, "tcp://0.0.0.0:601": {}, "udp://169.254.169.254": {}, "tcp://10.0.0.5:7400": {}, "tcp://198.18.0.1:1": {},
		"unix:///dev/log": {false, true}, "unixgram:///dev/log": {false, true}, "": {false, true}, "unix:///run/systemd/journal/socket": {}, "unix:///dev/../dev/log": {}, "nonsense": {},
	} {
		d := spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "c", LogConfiguration: &logdriver.Configuration{LogDriver: "syslog", Options: map[string]string{"syslog-address": address}}}}}
		for i, h := range []*spec.Host{&remote, &named} {
			if got := RequirementsOf(&d).RefusedBy(h, true); (got == "") != hosts[i] {
				t.Errorf("%q on a host that allows %v: %q", address, h.LogDestinations, got)
			}
		}
		if got := RequirementsOf(&d).RefusedBy(&spec.Host{}, true); got == "" {
			t.Errorf("%q is reached from a host that says nothing", address)
		}
	}
}

// Environment files are of the buckets that the operator names.
func TestABucketIsTheWordOfTheOperator(t *testing.T) {
	d := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "c", EnvironmentFiles: []envfile.File{{Type: "s3", Value: "arn:aws:s3:::team/a.env"}, {Type: "s3", Value: "arn:aws:s3:::other/a.env"}}}}}
	if got := RequirementsOf(d).RefusedBy(&spec.Host{Name: "gpu-1", Buckets: []string{"team", "other"}}, false); got != "" {
		t.Error(got)
	}
	for _, buckets := range [][]string{nil, {"team"}, {"other.team"}} {
		if got := RequirementsOf(d).RefusedBy(&spec.Host{Name: "gpu-1", Buckets: buckets}, true); !strings.Contains(got, "pinion up --bucket ") || !strings.Contains(got, "host gpu-1") || !strings.Contains(got, "container c ") {
			t.Errorf("%q: %q", buckets, got)
		}
	}
	override := spec.TaskOverride{Containers: []spec.ContainerOverride{{Name: "c", EnvironmentFiles: d.Containers[0].EnvironmentFiles[:1]}}}
	if got := RequirementsOf(spec.Effective(d, override)).RefusedBy(&spec.Host{Buckets: []string{"team"}}, false); got != "" {
		t.Errorf("an override has other files in their place: %s", got)
	}
}

// A file system is one that the operator names, and a task that only reads gets one that is to be read only.
func TestAFileSystemIsTheWordOfTheOperator(t *testing.T) {
	d := &spec.TaskDefinition{
		Volumes:    []spec.Volume{{Name: "v", EFS: &filesystem.EFSConfiguration{FileSystemID: "models"}}},
		Containers: []spec.ContainerDefinition{{Name: "c", MountPoints: []spec.MountPoint{{SourceVolume: "v", ContainerPath: "/v"}}}},
	}
	for says, offers := range map[string][]filesystem.Offer{
		"":                        {{Name: "models"}},
		"pinion up --file-system": {{Name: "model"}, {Name: "models2"}},
		"container c writes":      {{Name: "models", ReadOnly: true}},
	} {
		got := RequirementsOf(d).RefusedBy(&spec.Host{Name: "gpu-1", FileSystems: offers}, true)
		if (got == "") != (says == "") || !strings.Contains(got, says) {
			t.Errorf("%v: %q", offers, got)
		}
	}
	if got := RequirementsOf(d).RefusedBy(&spec.Host{Name: "gpu-1", Volumes: []volumeroot.Root{{Name: "models", Path: "/models"}}}, true); got == "" {
		t.Error("a directory of the host is no file system")
	}
	if a, b := RequirementsOf(d).Key(false), RequirementsOf(d).Key(false); a != b || a == "" {
		t.Errorf("the same question has two keys: %q, %q", a, b)
	}
}

// A shared volume that a task may not make needs a host that has it: in its data directory, or by the word of its operator.
func TestASharedVolumeNeedsAHostThatHasItOrMakesIt(t *testing.T) {
	no, yes := false, true
	shared := func(name string, makes *bool) *spec.TaskDefinition {
		return &spec.TaskDefinition{
			Volumes:    []spec.Volume{{Name: name, Docker: &volumeroot.DockerConfiguration{Scope: volumeroot.ScopeShared, Autoprovision: makes}}},
			Containers: []spec.ContainerDefinition{{Name: "c", MountPoints: []spec.MountPoint{{SourceVolume: name, ContainerPath: "/v"}}}},
		}
	}
	h := spec.Host{Volumes: volumeRoots, SharedVolumes: []string{"cache"}}
	for name, c := range map[string]struct {
		asks *spec.TaskDefinition
		says string
	}{
		"one that is there":             {shared("cache", nil), ""},
		"one that is not":               {shared("other", &no), "autoprovision"},
		"one that is made":              {shared("other", &yes), ""},
		"one that is to be read only":   {shared("models", &yes), "read only"},
		"the directory of all of them":  {shared("local", nil), "autoprovision"},
		"one that goes with its task":   {&spec.TaskDefinition{Volumes: []spec.Volume{{Name: "x", Docker: &volumeroot.DockerConfiguration{}}}}, ""},
		"one of a host without volumes": {shared("..", &no), "autoprovision"},
	} {
		if got := RequirementsOf(c.asks).RefusedBy(&h, true); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What nobody thought of is not given: the list says what is, not what is not.
func TestACapabilityIsGivenByNameOnly(t *testing.T) {
	given := 0
	for _, name := range linux.CapabilityNames {
		refused := RequirementsOf(asks.capability(name)).RefusedBy(&spec.Host{}, true) != ""
		if refused == Allowable(name) {
			given++
			continue
		}
		t.Errorf("%s: refused %t, can be allowed %t", name, refused, Allowable(name))
	}
	if given != len(linux.CapabilityNames) || Allowable("root") {
		t.Errorf("%d of %d", given, len(linux.CapabilityNames))
	}
	const dockers, harmless = "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE NET_RAW SETFCAP SETGID SETPCAP SETUID SYS_CHROOT",
		"IPC_LOCK IPC_OWNER LEASE NET_BROADCAST SYS_PTRACE"
	asked := slices.DeleteFunc(slices.Clone(linux.CapabilityNames), Allowable)
	if want := slices.Sorted(strings.FieldsSeq(dockers + " " + harmless)); !slices.Equal(asked, want) {
		t.Errorf("without asking the operator a task has %q, want %q", asked, want)
	}
}

func TestQuestionsOfOneKeyHaveOneAnswer(t *testing.T) {
	keys := map[string]string{}
	for name, d := range map[string]*spec.TaskDefinition{
		"privileged": asks.privileged, "pid": asks.hostPID, "net": asks.capability("NET_ADMIN"), "fuse": asks.device("/dev/fuse"), "files": {Containers: []spec.ContainerDefinition{{Name: "c", EnvironmentFiles: []envfile.File{{Type: "s3", Value: "arn:aws:s3:::team/a.env"}}}}}, "kvm": asks.device("/dev/kvm"), "data": asks.mount("/data", false), "data ro": asks.mount("/data", true),
	} {
		for _, byAdmin := range []bool{true, false} {
			key := RequirementsOf(d).Key(byAdmin)
			if other, twice := keys[key]; twice || key == "" {
				t.Errorf("%s, by an admin %t, has the key of %q", name, byAdmin, other)
			}
			keys[key] = name
		}
	}
	if key := RequirementsOf(asks.nothing).Key(true); key != "" {
		t.Errorf("a plain task has the key %q", key)
	}
}

func TestAHostShowsWhatItGives(t *testing.T) {
	h := spec.Host{Volumes: volumeRoots, Allow: []string{spec.AllowHostPID, "NET_ADMIN"}, Devices: []string{"/dev/fuse", "/dev/infiniband"}, Buckets: []string{"logs", "team"}, FileSystems: []filesystem.Offer{{Name: "models", ReadOnly: true}, {Name: "scratch"}}, Attributes: map[string]string{spec.AttributeAllow: "everything"}}
	for name, want := range map[string]string{spec.AttributeVolumes: "/data,models=/mnt/models:ro,local", spec.AttributeAllow: "host-pid,NET_ADMIN", spec.AttributeDevices: "/dev/fuse,/dev/infiniband", spec.AttributeBuckets: "logs,team", spec.AttributeFileSystems: "models:ro,scratch"} {
		if got, _ := h.Attribute(name); got != want || h.AllAttributes()[name] != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, carried := (&spec.Host{Attributes: map[string]string{spec.AttributeAllow: "everything"}}).Attribute(spec.AttributeAllow); carried {
		t.Error("a host's own word for it counts")
	}
}

// Whatever a definition names: what is found is the path that it names, in the root that it is in, and never above it.
func TestAVolumeIsFoundInItsRootOrNotAtAll(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"data", "models", "local", "mnt", "..", ".", "", "x", "databank"}), 0, 6).Draw(r, "path")
		source := strings.Join(parts, "/")
		root, below, found := volumeroot.Find(volumeRoots, source)
		if !found {
			return
		}
		if below != path.Clean(below) || path.IsAbs(below) || below == ".." || strings.HasPrefix(below, "../") {
			r.Fatalf("%q is %q below %s", source, below, root)
		}
		names := path.Join(root.Name, below)
		if path.IsAbs(source) {
			names = path.Join(root.Path, below)
		}
		if names != path.Clean(source) {
			r.Fatalf("%q is %q below %s, which is %q", source, below, root, names)
		}
	})
}

// A process of real-time priority goes before every process of the host that has none, Pinion's too.
func TestRealTimePriorityIsTheHostsToGive(t *testing.T) {
	for hard, power := range map[int64]bool{0: false, 1: true, 99: true, -1: true} {
		d := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "c", Ulimits: []spec.Ulimit{{Name: "nofile", HardLimit: 9}, {Name: "rtprio", HardLimit: hard}}}}}
		if why := RequirementsOf(d).RefusedBy(&spec.Host{}, true); power != strings.Contains(why, "--allow SYS_NICE") {
			t.Errorf("hard limit %d: %q", hard, why)
		}
		if why := RequirementsOf(d).RefusedBy(&spec.Host{Allow: []string{"SYS_NICE"}}, false); why != "" {
			t.Errorf("hard limit %d, where it is allowed: %q", hard, why)
		}
	}
}
