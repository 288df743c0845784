package sortkey

import (
	"hash/crc32"
	"strings"
	"testing"
)

// Servers of two versions order the groups of an index alike.
func TestTheChecksumOfAPrefixIsTheCRC(t *testing.T) {
	for _, text := range []string{"", "default", "clúster", strings.Repeat("long ", 20)} {
		if got, want := checksum(text), crc32.ChecksumIEEE([]byte(text)); got != want {
			t.Errorf("%q has %x, not %x", text, got, want)
		}
	}
	if allocated := testing.AllocsPerRun(100, func() { checksum("a cluster with a name of more than 32 bytes") }); allocated > 0 {
		t.Errorf("it allocates %v objects, for each change and lookup", allocated)
	}
}
