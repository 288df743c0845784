// Package volumeroot has the directories of a host that tasks may mount.
package volumeroot

import (
	"path"
	"strings"

	"pinion/raftfsm/lazyregexp"
)

// Local is the name of the volume root that every host has: a directory in its data directory, unless
// `pinion up --volume local=DIR` names another.
const Local = "local"

var validName = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// ValidName reports whether a volume root can have the name.
func ValidName(name string) bool { return validName.MatchString(name) }

// Root is a directory of a host that tasks may mount, with everything below it: `pinion up --volume`. A task names it by its
// path or by its name.
type Root struct {
	Name     string `json:"name,omitempty"`
	Path     string `json:"path,omitempty"` // absolute; empty for one that goes by its name alone
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// String is the root in the form of `pinion up --volume`.
func (r Root) String() string {
	text := r.Path
	switch {
	case r.Path == "":
		text = r.Name
	case r.Name != "":
		text = r.Name + "=" + r.Path
	}
	if r.ReadOnly {
		text += ":ro"
	}
	return text
}

// Find finds the root that a volume's sourcePath is in, and the path below it, "." for the root itself. sourcePath is an
// absolute path, NAME, or NAME/path.
func Find(roots []Root, sourcePath string) (root Root, below string, found bool) {
	clean := path.Clean(sourcePath)
	name, rest, _ := strings.Cut(clean, "/")
	for _, root := range roots {
		if !path.IsAbs(clean) {
			if root.Name == name {
				return root, path.Clean("./" + rest), true
			}
			continue
		}
		if root.Path == "" {
			continue
		}
		if rest, inside := strings.CutPrefix(clean+"/", root.Path+"/"); inside {
			return root, path.Clean("./" + rest), true
		}
	}
	return Root{}, "", false
}
