package wire

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// maxExpanded bounds a YAML body whose aliases stand for what they name: as much as a JSON body may have.
const maxExpanded = 1 << 20

// maxDepth bounds what lies within what, as the reader of YAML does: an alias within what it names has no end.
const maxDepth = 10_000

// checkAliases refuses a body that says little and means much: an alias of two bytes stands for a text of a megabyte, or for ten others. Errors of
// the syntax are told by who reads the body for good.
func checkAliases(body []byte) error {
	if !bytes.ContainsRune(body, '&') {
		return nil // nothing can be named
	}
	var document yaml.Node
	if yaml.Unmarshal(body, &document) != nil {
		return nil
	}
	if left := maxExpanded; !fits(&document, maxDepth, &left) {
		return Errorf(Serialization, "the YAML body has more than %d bytes when its aliases are written out: name less, or send it in parts", maxExpanded)
	}
	return nil
}

// fits takes the bytes of a node from left, and reports whether they were there.
func fits(n *yaml.Node, depth int, left *int) bool {
	if *left -= len(n.Value) + 1; *left < 0 || depth == 0 {
		return false
	}
	if n.Alias != nil {
		return fits(n.Alias, depth-1, left)
	}
	for _, part := range n.Content {
		if !fits(part, depth-1, left) {
			return false
		}
	}
	return true
}
