// Package archive is the form in which tools travel: one zstd-compressed tar, and beside it the digests of its files in
// the format of sha256sum. The builder writes both, the bundle reads them.
package archive

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// Sum is one line of the digests: the expected content of a file.
type Sum struct {
	Digest string // sha256, 64 hexadecimal digits
	Name   string // slash-separated path below the directory of the tools, "cni/bridge"
}

// String returns the line as sha256sum writes it, without the line's end.
func (s Sum) String() string { return s.Digest + "  " + s.Name }

// ParseSums reads the text that sha256sum writes. A name that leaves its directory is an error.
func ParseSums(text string) ([]Sum, error) {
	var sums []Sum
	for line := range strings.Lines(text) {
		digest, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		raw, err := hex.DecodeString(digest)
		if !found || err != nil || len(raw) != 32 || !filepath.IsLocal(name) {
			return nil, fmt.Errorf("line %q is no digest of a file", line)
		}
		sums = append(sums, Sum{Digest: digest, Name: name})
	}
	if len(sums) == 0 {
		return nil, fmt.Errorf("no digests")
	}
	return sums, nil
}
