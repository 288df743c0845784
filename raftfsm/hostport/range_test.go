package hostport

import "testing"

func TestRangesOfPorts(t *testing.T) {
	for text, want := range map[string]Range{
		"8000-8009": {8000, 8009}, "1-2": {1, 2}, "65436-65535": {65436, 65535},
		"8000": {}, "8000-": {}, "-8000": {}, "8001-8000": {}, "80-80": {}, "0-9": {}, "65530-65536": {}, "1-101": {}, "+1-2": {}, "01-2": {}, " 1-2": {}, "1-2-3": {}, "": {},
	} {
		got, err := ParseRange(text)
		if got != want || (err == nil) != (want != Range{}) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	one := Range{10, 20}
	for other, want := range map[Range]bool{{1, 9}: false, {1, 10}: true, {20, 30}: true, {21, 30}: false, {12, 13}: true} {
		if one.Overlaps(other) != want || other.Overlaps(one) != want {
			t.Errorf("%v and %v", one, other)
		}
	}
}
