// Package filesystem is ECS's efsVolumeConfiguration: network file systems that hosts mount for tasks.
package filesystem

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pinion/raftfsm/volumeroot"
)

const (
	// maxSource and maxOptions bound what mount(8) is given, in bytes. The kernel takes a page of options.
	maxSource, maxOptions = 1024, 4000
	// fusePrefix begins the types of file systems in user space: fuse.sshfs.
	fusePrefix = "fuse."
)

// types are the types of file systems that a host may mount, with the options under which nobody reads along between the host and the server.
// Those of disks are not among them: a disk is mounted by the operator, and given to tasks with --volume.
var types = map[string][]string{
	"nfs":  {"xprtsec=tls", "xprtsec=mtls", "sec=krb5p"},
	"nfs4": {"xprtsec=tls", "xprtsec=mtls", "sec=krb5p"},
	"efs":  {"tls"}, // of amazon-efs-utils
	"cifs": {"seal"}, "smb3": {"seal"},
	"ceph":   {"ms_mode=secure"},
	"lustre": nil, "glusterfs": nil, "beegfs": nil, "9p": nil, "virtiofs": nil,
}

// otherMounts are options with which mount(8) does not mount the source at all, but moves, changes or repeats another mount.
var otherMounts = []string{"bind", "rbind", "move", "remount", "loop"}

// logins are options that have the password itself. Everybody on the host can read a command line.
var logins = []string{"pass", "password", "password2", "passwd", "secret"}

// FileSystem is a network file system that a host mounts for tasks: `pinion up --file-system`. Only the host knows the source and the options.
type FileSystem struct {
	Name    string // what fileSystemId says
	Type    string // of mount(8)
	Source  string
	Options []string
}

// Parse reads NAME=TYPE:SOURCE[,OPTION...]. A comma that is part of the source or of an option has a backslash before it.
func Parse(given string) (f FileSystem, err error) {
	name, rest, _ := strings.Cut(given, "=")
	kind, rest, _ := strings.Cut(rest, ":")
	words := splitUnescaped(rest)
	f = FileSystem{Name: name, Type: kind, Source: words[0], Options: words[1:]}
	switch {
	case !volumeroot.ValidName(name):
		return f, fmt.Errorf("%.300q is not NAME=TYPE:SOURCE with options behind it, a comma before each: the name is 1 to 64 letters, digits, - and _", given)
	case !knownType(kind):
		return f, fmt.Errorf("%s: %.100q is not a type of network file systems: %s and fuse.NAME are; a disk is mounted by you, and given to tasks with --volume", name, kind, strings.Join(slices.Sorted(maps.Keys(types)), " "))
	case f.Source == "" || len(f.Source) > maxSource || f.Source[0] == '-' || !printable(f.Source):
		return f, fmt.Errorf("%s: the source is what mount(8) takes for type %s, up to %d characters that can be printed, and does not begin with -", name, kind, maxSource)
	}
	return f, f.checkOptions()
}

func (f FileSystem) checkOptions() error {
	if len(strings.Join(f.Options, ",")) > maxOptions {
		return fmt.Errorf("%s: its options have more than %d bytes", f.Name, maxOptions)
	}
	for _, o := range f.Options {
		key, _, _ := strings.Cut(o, "=")
		switch {
		case o == "" || !printable(o) || strings.Contains(o, ","):
			return fmt.Errorf("%s: an option is empty, or has a comma or a character that cannot be printed", f.Name)
		case slices.Contains(otherMounts, key):
			return fmt.Errorf("%s: the option %s mounts something else than the source: leave it out, and give tasks a directory with --volume", f.Name, key)
		case slices.Contains(logins, key):
			return fmt.Errorf("%s: the option %s has a password that everybody on the host could read: write it to a file, and name that with the option that the type has for it, such as credentials=FILE or secretfile=FILE", f.Name, key)
		}
	}
	return nil
}

// splitUnescaped splits at the commas that have no backslash before them. There is at least one part.
func splitUnescaped(text string) []string {
	parts := []string{""}
	for at := 0; at < len(text); at++ {
		last := &parts[len(parts)-1]
		switch {
		case text[at] == '\\' && at+1 < len(text) && text[at+1] == ',':
			at++
			*last += ","
		case text[at] == ',':
			parts = append(parts, "")
		default:
			*last += text[at : at+1]
		}
	}
	return parts
}

func knownType(kind string) bool {
	if name, fuse := strings.CutPrefix(kind, fusePrefix); fuse {
		return volumeroot.ValidName(name)
	}
	_, known := types[kind]
	return known
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Offer returns the description of the file system for the pool.
func (f FileSystem) Offer() Offer {
	encrypted := slices.ContainsFunc(f.Options, func(o string) bool { return slices.Contains(types[f.Type], o) })
	return Offer{Name: f.Name, Type: f.Type, ReadOnly: slices.Contains(f.Options, "ro"), Encrypted: encrypted}
}

// Offer is a file system that a host mounts for tasks, as its pool knows it: without its source and its options, which may have logins.
type Offer struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
	Encrypted bool   `json:"encrypted,omitempty"` // between the host and its server, by its options
}

// String is NAME, or NAME:ro.
func (o Offer) String() string {
	if o.ReadOnly {
		return o.Name + ":ro"
	}
	return o.Name
}
