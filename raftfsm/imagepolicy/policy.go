// Package imagepolicy has the rule for the images that the tasks of a cluster may have, by their names.
package imagepolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"pinion/raftfsm/blob"
)

// Any is the policy that allows every image.
const Any = "any"

// Bounds of a policy: it goes with each task to its host.
const (
	maxPatterns = 20
	maxLength   = 1000 // in bytes, of all together
)

// Policy is a list of registries and repositories with commas between, in full: "registry.example.com", "docker.io/library",
// "registry.example.com/team/trainer". An image is allowed when its name, in full, is one of them or lies below it. Any, or nothing, allows all.
type Policy string

// Check refuses what is no policy.
func (p Policy) Check() error {
	if p == Any {
		return nil
	}
	all := p.patterns()
	if len(all) == 0 || len(all) > maxPatterns || len(p) > maxLength {
		return fmt.Errorf("it has to be %s, or 1 to %d registries and repositories with commas between, in %d characters", Any, maxPatterns, maxLength)
	}
	for _, pattern := range all {
		registry, _, _ := strings.Cut(pattern, "/")
		named, err := reference.ParseNormalizedNamed(pattern + "/x")
		if err != nil || reference.Domain(named) != registry || !reference.IsNameOnly(named) {
			return fmt.Errorf("%.200q is no registry or repository written in full, such as registry.example.com:5000/team or docker.io/library", pattern)
		}
	}
	return nil
}

// Restricts reports whether there are images that the policy does not allow.
func (p Policy) Restricts() bool { return p != "" && p != Any }

// patterns are those of the list, none for a policy that allows everything.
func (p Policy) patterns() []string {
	if !p.Restricts() {
		return nil
	}
	return strings.Split(string(p), ",")
}

// Allows reports whether tasks may have the image, as a task definition names it. blob.Builtin is every host's own, and always allowed.
func (p Policy) Allows(image string) bool {
	if !p.Restricts() {
		return true
	}
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return false
	}
	if reference.TagNameOnly(named).String() == "docker.io/"+blob.Builtin+":latest" {
		return true // with another tag, or a digest, it is an image of the registry
	}
	return slices.ContainsFunc(p.patterns(), func(pattern string) bool {
		rest, below := strings.CutPrefix(named.Name(), pattern)
		return below && (rest == "" || rest[0] == '/')
	})
}
