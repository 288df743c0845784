package exec

import (
	"strings"
	"testing"
)

func TestTheKeysThatDetach(t *testing.T) {
	for keys, detaches := range map[string]bool{
		"\x03": true, "\x10\x11": true, "ls\r\x10\x10\x11": true, "abc\x03": true,
		"": false, "\x10": false, "\x11": false, "\x10x\x11": false, "\x11\x10": false, "quit\r\x04": false,
	} {
		if got := pressesDetach(strings.NewReader(keys)); got != detaches {
			t.Errorf("%q: %t", keys, got)
		}
	}
}
