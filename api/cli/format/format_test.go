package format

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMemoryIsReadAsPeopleWriteIt(t *testing.T) {
	for text, want := range map[string]int64{
		"512": 512, "512m": 512, "512MiB": 512, "512 MB": 512, "2g": 2048, "2G": 2048, "2GiB": 2048, "1.5g": 1536, "1t": 1 << 20, "1048577b": 2, "1k": 1,
	} {
		if got, err := ParseMemory(text); got != want || err != nil {
			t.Errorf("%q is %d MiB (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "g", "0", "-1g", "2x", "2gg", "nan", "inf", "1e40g", "2g2"} {
		if got, err := ParseMemory(text); err == nil {
			t.Errorf("%q is %d MiB", text, got)
		}
	}
}

func TestAgesAndAmountsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 42 * time.Second: "42s", 119 * time.Second: "119s", 17 * time.Minute: "17m", 119 * time.Minute: "119m", 5 * time.Hour: "5h", 47 * time.Hour: "47h", 80 * time.Hour: "3d",
	} {
		checkEqual(t, d.String(), Age(d), want)
	}
	checkEqual(t, "memory", MiB(512)+" "+MiB(1536)+" "+MiB(81920)+" "+MiB(2063597), "512 MiB 1.5 GiB 80 GiB 2015 GiB")
	checkEqual(t, "cores", Cores(1024)+" "+Cores(512)+" "+Cores(256), "1 0.5 0.25")
}

// checkEqual fails with both texts when they differ.
func checkEqual(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func TestPeopleReadNoARNs(t *testing.T) {
	checkEqual(t, "of a key", Principals("arn:aws:iam::123456789012:user/AKIA1 may not do RunTask"), "key AKIA1 may not do RunTask")
	checkEqual(t, "of a person", Principals("arn:aws:iam::123456789012:user/login/anna may not do RunTask"), "anna may not do RunTask")
}

func TestNamesAreOrderedAsPeopleCount(t *testing.T) {
	names := []string{"gpu-10", "gpu-2", "gpu-01", "gpu", "a9z", "a10", "gpu-2b"}
	slices.SortFunc(names, CompareNames)
	if got := strings.Join(names, " "); got != "a9z a10 gpu gpu-01 gpu-2 gpu-2b gpu-10" {
		t.Error(got)
	}
}
