package blob

import (
	"fmt"

	"github.com/distribution/reference"
)

// Builtin is the name of the image that each host makes of its own binary.
const Builtin = "pinion/self"

// NormalizeName writes the name of an image in full: with its registry, and the tag latest where it has none. A name with a digest is
// refused, because that means itself, and so is Builtin.
func NormalizeName(name string) (string, error) {
	named, err := reference.ParseDockerRef(name)
	if err != nil {
		return "", fmt.Errorf("image %q: %w; write it as [registry/]repository[:tag]", name, err)
	}
	if _, digested := named.(reference.Digested); digested {
		return "", fmt.Errorf("image %q has a digest: give it a name with a tag", name)
	}
	if reference.FamiliarName(named) == Builtin {
		return "", fmt.Errorf("image %s is the one that each host makes of its own binary: choose another name", Builtin)
	}
	return named.String(), nil
}
