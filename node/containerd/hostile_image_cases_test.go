package containerd_test

import (
	"archive/tar"
	"fmt"
	"math"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

func file(name string) tar.Header { return tar.Header{Name: name} }

func textFile(name, text string) tar.Header {
	return tar.Header{Name: name, PAXRecords: map[string]string{"TEST.content": text}}
}

func symlink(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
}

func hardlink(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to}
}

func directory(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name} }

func device(name string, major, minor int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeChar, Name: name, Devmajor: major, Devminor: minor}
}

func fifo(name string) tar.Header { return tar.Header{Typeflag: tar.TypeFifo, Name: name} }

func withXattr(h tar.Header, name, value string) tar.Header {
	h.PAXRecords = map[string]string{"SCHILY.xattr." + name: value}
	return h
}

// layer is an image with one layer of these entries.
func layer(entries ...tar.Header) func(string) [][]tar.Header {
	return func(string) [][]tar.Header { return [][]tar.Header{entries} }
}

// each has one entry more in each layer.
func each(entries ...tar.Header) func(string) [][]tar.Header {
	return func(string) (layers [][]tar.Header) {
		for _, e := range entries {
			layers = append(layers, []tar.Header{e})
		}
		return layers
	}
}

// at replaces HOST by the directory of the witnesses.
func at(layers func(string) [][]tar.Header) func(string) [][]tar.Header {
	return func(host string) [][]tar.Header {
		all := layers(host)
		for _, entries := range all {
			for i := range entries {
				entries[i].Name = strings.ReplaceAll(entries[i].Name, "HOST", host[1:])
				entries[i].Linkname = strings.ReplaceAll(entries[i].Linkname, "HOST", host[1:])
			}
		}
		return all
	}
}

const up = "../../../../../../../../../../../../"

func user(name string) func(*v1.Config) { return func(c *v1.Config) { c.User = name } }

func workingDir(path string) func(*v1.Config) { return func(c *v1.Config) { c.WorkingDir = path } }

func env(entries ...string) func(*v1.Config) {
	return func(c *v1.Config) { c.Env = append(c.Env, entries...) }
}

// ownCommand lets the image say what runs.
func ownCommand(s *runtime.ContainerSpec) { s.Def.Command, s.Def.EntryPoint = nil, nil }

func entrypoint(args ...string) func(*v1.Config) {
	return func(c *v1.Config) { c.Entrypoint, c.Cmd = args, nil }
}

// tmpfsAt gives the container a volume at a path that the image has something at.
func tmpfsAt(path string) func(*runtime.ContainerSpec) {
	return func(s *runtime.ContainerSpec) {
		s.Def.LinuxParameters = &spec.LinuxParameters{Tmpfs: []spec.Tmpfs{{ContainerPath: path, Size: 1}}}
	}
}

func many(n int, entry func(i int) tar.Header) func(string) [][]tar.Header {
	entries := make([]tar.Header, n)
	for i := range entries {
		entries[i] = entry(i)
	}
	return layer(entries...)
}

var hostileImageCases = []hostileImage{
	// Names and links that lead out of the layer.
	{name: "a name above the root", layers: at(layer(file(up + "HOST/secret")))},
	{name: "an absolute name", layers: at(layer(file("/HOST/secret")))},
	{name: "a name that goes up and down", layers: at(layer(directory("a"), file("a/b/../../"+up+"HOST/secret")))},
	{name: "a file behind a link to the root", layers: at(layer(symlink("d", "/"), file("d/HOST/secret")))},
	{name: "a file behind a link to the host", layers: at(layer(symlink("d", up+"HOST"), file("d/secret")))},
	{name: "a file behind a link of another layer", layers: at(each(symlink("d", "/HOST"), file("d/secret")))},
	{name: "a link through a link", layers: at(each(symlink("a", "/HOST"), symlink("d", "a"), file("d/secret")))},
	{name: "a link in the place of a directory", layers: at(layer(directory("d"), symlink("d", "/HOST"), file("d/secret"), directory("d")))},
	{name: "a file in the place of a link", layers: at(each(symlink("link", "/HOST/secret"), file("link")))},
	{name: "a hard link to the host", layers: at(layer(hardlink("hard", "/HOST/secret"), file("hard")))},
	{name: "a hard link above the root", layers: at(layer(hardlink("hard", up+"HOST/secret"), file("hard")))},
	{name: "a hard link to a link", layers: at(layer(symlink("link", "/HOST/secret"), hardlink("hard", "link"), file("hard")))},
	{name: "a hard link behind a link", layers: at(layer(symlink("d", "/HOST"), hardlink("hard", "d/secret")))},
	{name: "a hard link behind a link of another layer", layers: at(each(symlink("d", "/HOST"), hardlink("hard", "d/secret")))},
	{name: "a whiteout behind a link", layers: at(each(symlink("d", "/HOST"), file("d/.wh.secret")))},
	{name: "an opaque directory behind a link", layers: at(each(symlink("d", "/HOST/full"), file("d/.wh..wh..opq")))},
	{name: "whiteouts of odd names", layers: layer(file(".wh."), file(".wh.."), file(".wh..."), file("a/.wh...."), file(".wh..wh.plnk"), file(".wh..wh.aufs"), file(".wh..wh."))},
	{name: "a whiteout of the root", layers: layer(file(".wh.."), file("./.wh..wh..opq"), file("bin/.wh.busybox"))},
	{name: "the mode of a link to the host", layers: at(layer(symlink("d", "/HOST"), tar.Header{Typeflag: tar.TypeDir, Name: "d", Mode: 0o7777, Uid: 7, Gid: 7}))},
	{name: "the root as a link", layers: at(layer(symlink(".", "/HOST"), file("secret")))},
	{name: "the root as a file", layers: layer(file("."), file("/"))},
	{name: "a file, a directory and a link of one name", layers: at(layer(file("d"), directory("d"), symlink("d", "/HOST"), file("d"), directory("d"), file("d/secret")))},
	// Attributes and kinds.
	{name: "devices", layers: layer(device("mem", 1, 1), device("kmsg", 1, 11), tar.Header{Typeflag: tar.TypeBlock, Name: "disk", Devmajor: 8}, device("d/nvidia0", 195, 0))},
	{name: "devices of any number", layers: layer(device("mem", math.MaxInt32, math.MaxInt32), device("link", 1<<20, 1<<30))},
	{name: "a set-uid shell", layers: layer(tar.Header{Name: "bin/su2", Mode: 0o6755}), config: user("65534")},
	{name: "capabilities of a file", layers: layer(withXattr(file("link"), "security.capability", "\x01\x00\x00\x02\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00"))},
	{name: "capabilities that are none", layers: layer(withXattr(file("link"), "security.capability", strings.Repeat("\xff", 10_000)))},
	{name: "attributes of the file system's own", layers: layer(withXattr(directory("d"), "trusted.overlay.redirect", "/../../../../etc"), withXattr(directory("mnt"), "trusted.overlay.opaque", "y"), withXattr(file("link"), "trusted.overlay.metacopy", ""))},
	{name: "attributes of a link to the host", layers: at(layer(withXattr(symlink("link", "/HOST/secret"), "trusted.evil", "x"), withXattr(symlink("d", "/HOST"), "user.evil", "x")))},
	{name: "attributes of odd names", layers: layer(withXattr(file("link"), "security.selinux", "x"), withXattr(file("hard"), "no such attribute", strings.Repeat("x", 60_000)))},
	{name: "owners and times of any number", layers: layer(tar.Header{Name: "link", Uid: math.MaxUint32, Gid: -1, ModTime: time.Unix(-1<<40, 0)}, tar.Header{Name: "hard", Uid: 1 << 40, ModTime: time.Unix(1<<50, 0)})},
	{name: "pipes and sockets", layers: layer(fifo("link"), fifo("etc/hosts"), fifo("etc/resolv.conf"))},
	// Lengths and numbers.
	{name: "a deep path", layers: layer(file(strings.Repeat("a/", 500) + "b"))},
	{name: "a deeper path", layers: layer(file(strings.Repeat("a/", 30_000) + "b"))},
	{name: "a long name", layers: layer(file(strings.Repeat("n", 256)))},
	{name: "a long target", layers: layer(symlink("link", strings.Repeat("n", 5000)))},
	{name: "links in a circle", layers: layer(symlink("link", "d"), symlink("d", "link"), file("d/secret"))},
	{name: "many files", layers: many(20_000, func(i int) tar.Header {
		return tar.Header{Typeflag: tar.TypeLink, Name: fmt.Sprint("many/", i), Linkname: "bin/busybox"}
	})},
	{name: "names that are no text", layers: layer(file("a\xff\xfe"), file("new\nline"), file("\x1b[2J"), file("d/\u202e"), file("-rf"), file("*"))},
	// Files of an image that the runtime itself mounts, writes and reads.
	{name: "hosts and resolv.conf as links to the host", layers: at(layer(symlink("etc/hosts", "/HOST/secret"), symlink("etc/resolv.conf", up+"HOST/new")))},
	{name: "etc as a link to the host", layers: at(layer(symlink("etc", "/HOST")))},
	{name: "hosts and resolv.conf as directories", layers: layer(directory("etc/hosts"), directory("etc/resolv.conf/x"))},
	{name: "hosts and resolv.conf as devices", layers: layer(device("etc/hosts", 1, 5), device("etc/resolv.conf", 1, 1))},
	{name: "dev as a link to the host", layers: at(layer(symlink("dev", "/HOST")))},
	{name: "proc as a link to the host", layers: at(layer(symlink("proc", "/HOST")))},
	{name: "sys as a link to the host", layers: at(layer(symlink("sys", up+"HOST")))},
	{name: "places in dev as links to the host", layers: at(layer(symlink("dev/shm", "/HOST"), symlink("dev/pts", "/HOST"), symlink("dev/mqueue", "/HOST"), symlink("dev/null", "/HOST/secret"), symlink("dev/console", "/HOST/secret")))},
	{name: "proc and sys as files", layers: layer(file("proc"), file("sys"))},
	{name: "a volume at a link to the host", layers: at(layer(symlink("mnt", "/HOST"))), spec: tmpfsAt("/mnt/full")},
	{name: "a volume at a link to proc", layers: layer(symlink("mnt", "/proc/self")), spec: tmpfsAt("/mnt/attr")},
	{name: "a user of the host", layers: at(layer(symlink("etc/passwd", "/HOST/passwd"))), config: user("hostuser")},
	{name: "a user above the root", layers: at(layer(symlink("etc/passwd", up+"HOST/passwd"))), config: user("hostuser")},
	{name: "passwd as a pipe", layers: layer(fifo("etc/passwd")), config: user("somebody")},
	{name: "group as a pipe", layers: layer(fifo("etc/group")), config: user("65534:staff")},
	{name: "passwd as an endless device", layers: layer(device("etc/passwd", 1, 5), device("etc/group", 1, 5)), config: user("somebody")},
	{name: "passwd as a directory", layers: layer(directory("etc/passwd")), config: user("somebody")},
	{name: "passwd of one long line", layers: layer(textFile("etc/passwd", strings.Repeat("x", 64<<20))), config: user("somebody")},
	{name: "passwd of millions of lines", layers: layer(textFile("etc/passwd", strings.Repeat("a:b:1:1:c:d:e\n", 3_000_000))), config: user("somebody")},
	{name: "no passwd", layers: layer(file("etc/.wh.passwd"), file("etc/.wh.group")), config: user("somebody")},
	{name: "users that are none", layers: layer(textFile("etc/passwd", "a:x:-1:-1:::\nb:x:99999999999:1:::\n:::::\n\x00:x:0:0\n")), config: user("a:\x00b")},
	{name: "a preloaded library", layers: layer(textFile("etc/ld.so.preload", "/evil.so\n"), file("evil.so"), symlink("lib64", "/proc/self/fd")), config: env("LD_PRELOAD=/evil.so", "LD_LIBRARY_PATH=/proc/self/fd", "GCONV_PATH=/", "GODEBUG=x")},
	// The configuration.
	{name: "the runtime's own binary as the command", layers: layer(symlink("evil", "/proc/self/exe"), textFile("run", "#!/proc/self/exe\n")), config: entrypoint("/evil", "init"), spec: ownCommand},
	{name: "a script of the runtime's own binary", layers: layer(textFile("run", "#!/proc/self/exe\n")), config: entrypoint("/run"), spec: ownCommand},
	{name: "a working directory in the runtime's files", config: workingDir("/proc/self/fd/7")},
	{name: "a working directory behind the runtime's files", config: workingDir("/proc/self/fd/8/../../../../tmp")},
	{name: "a working directory that is a link to the host", layers: at(layer(symlink("d", "/HOST/full/new"))), config: workingDir("/d")},
	{name: "a working directory that is none", config: workingDir("../../etc\x00")},
	{name: "variables without a name", config: env("", "=", "=x", "no equals", "A=\x00B", "\xff\xfe=\xff", "NVIDIA_VISIBLE_DEVICES=all", strings.Repeat("x", 100_000)+"=1")},
	{name: "very many variables", config: func(c *v1.Config) {
		for i := range 5_000 {
			c.Env = append(c.Env, fmt.Sprint("V", i, "=x"))
		}
	}},
	{name: "a variable longer than the kernel takes", config: env("LONG=" + strings.Repeat("x", 1<<20))},
	{name: "a command that is none", config: entrypoint("", "\x00"), spec: ownCommand},
	{name: "a command of very many words", config: entrypoint(strings.Split("echo "+strings.Repeat("x ", 100_000), " ")...), spec: ownCommand},
	{name: "a command that is a directory", config: entrypoint("/etc"), spec: ownCommand},
	{name: "volumes, ports, labels and signals", config: func(c *v1.Config) {
		c.Volumes = map[string]struct{}{"/": {}, "/proc": {}, up + "etc": {}, "": {}}
		c.ExposedPorts = map[string]struct{}{"99999999/xyz": {}, "-1": {}, "": {}, "22/tcp": {}}
		c.Labels = map[string]string{"containerd.io/gc.root": "x", "pinion.task": "x", "containerd.io/restart.status": "running", "\x00": strings.Repeat("x", 100_000)}
		c.StopSignal, c.Hostname, c.Domainname = "-9", strings.Repeat("h", 300), "\x1b[2J"
		c.Healthcheck = &v1.HealthConfig{Test: []string{"CMD", "/evil"}, Interval: -1}
		c.OnBuild, c.Shell = []string{"RUN evil"}, []string{"/evil"}
	}},
}
