package image

import (
	"fmt"

	"pinion/raftfsm/command"
	"pinion/raftfsm/spec"
)

// Put records an image in the place of an earlier one of the name. Tasks that were started before keep the digest that they have.
// spec.ErrLimit for more than Max. Answer: nil.
type Put struct{ Image Image }

// Apply carries the command out.
func (c Put) Apply(tx command.Transaction) (any, error) {
	if ByName.Len(tx) >= Max && Find(tx, c.Image.Name) == nil {
		return nil, fmt.Errorf("image %s: %w: a pool keeps %d images", c.Image.Name, spec.ErrLimit, Max)
	}
	tx.Put(&c.Image)
	return nil, nil
}

// Delete ends that an image is kept; hosts remove it when they need its room. spec.ErrNotFound. Answer: *Image.
type Delete struct{ Name string }

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.Name)
	if known == nil {
		return nil, fmt.Errorf("image %s: %w: the pool does not keep it", c.Name, spec.ErrNotFound)
	}
	tx.Remove(known)
	return known, nil
}
