package e2e

import (
	"strings"
	"testing"
)

func TestMessagesThatCameAgainAreCounted(t *testing.T) {
	var text strings.Builder
	for i := range 40_000 {
		text.WriteString(string(rune('a'+i*i%23)) + string(rune('a'+i/23%26)) + string(rune('a'+i/598%26)))
	}
	data := text.String()
	again := func(at, size int) string { return data[:at] + data[at-size:] }
	for name, c := range map[string]struct {
		got  string
		want int
	}{
		"whole":               {data, 0},
		"a whole message":     {again(40_960, messageSize), 1},
		"a short message":     {again(40_960, messageSize-1), 1},
		"one after another":   {data[:8192] + data[4096:12_288] + data[8193:], 2},
		"a byte is missing":   {data[:5000] + data[5001:], -1},
		"a byte is another":   {data[:5000] + "-" + data[5001:], -1},
		"the end is missing":  {data[:len(data)-1], -1},
		"more than a message": {again(40_960, 2*messageSize), -1},
	} {
		if n := repeated(c.got, data); n != c.want {
			t.Errorf("%s: %d messages came again, not %d", name, n, c.want)
		}
	}
}
