package logdriver

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestALogIsBounded(t *testing.T) {
	for _, c := range []struct {
		size, files, want string
	}{
		{"", "", ""},
		{"10m", "3", ""},
		{"4g", "4", ""},
		{"999999999g", "1", `log option max-size: "999999999g" is more than 16 GiB, which is the most for one container`},
		{"5g", "4", "log options max-size times max-file are more than 16 GiB, which is the most for one container"},
		{"1k", "1001", `log option max-file: "1001" is not a number of files from 1 to 1000`},
	} {
		l := &Configuration{LogDriver: JSONFile, Options: map[string]string{optionMaxSize: c.size, optionMaxFile: c.files}}
		got := ""
		if r, err := l.Rotation(); err != nil {
			got = err.Error()
		} else if r.Bytes() > MaxBytes {
			t.Errorf("%+v", r)
		}
		if got != c.want {
			t.Errorf("%s x %s: %q, want %q", c.size, c.files, got, c.want)
		}
	}
}

func TestARotationFitsWhatAHostGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked := Rotation{MaxSize: rapid.Int64Range(1, 1<<34).Draw(t, "size"), MaxFiles: rapid.IntRange(1, MaxFiles).Draw(t, "files")}
		given := rapid.Int64Range(1<<10, 1<<40).Draw(t, "given")
		got := asked.Within(given)
		if got.Bytes() > given || got.MaxSize < 1 || got.MaxFiles < 1 || got.MaxSize > asked.MaxSize || got.MaxFiles > asked.MaxFiles {
			t.Fatalf("%+v within %d is %+v", asked, given, got)
		}
		if asked.Bytes() <= given && got != asked {
			t.Fatalf("%+v fits %d and became %+v", asked, given, got)
		}
	})
}

func TestSizesAreReadAsDockerWritesThem(t *testing.T) {
	for text, want := range map[string]int64{"10": 10, "500k": 500 << 10, "10M": 10 << 20, "1gb": 1 << 30, "2t": 2 << 40} {
		if got, err := ParseSize(text); got != want || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "1.5g", "10x", strings.Repeat("9", 10), "999999999t"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%s is %d", text, got)
		}
	}
}
