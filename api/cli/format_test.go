package cli

import (
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

func TestMemoryIsReadAsPeopleWriteIt(t *testing.T) {
	for text, want := range map[string]int64{
		"512": 512, "512m": 512, "512MiB": 512, "512 MB": 512, "2g": 2048, "2G": 2048, "2GiB": 2048, "1.5g": 1536, "1t": 1 << 20, "1048577b": 2, "1k": 1,
	} {
		if got, err := parseMemory(text); got != want || err != nil {
			t.Errorf("%q is %d MiB (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "g", "0", "-1g", "2x", "2gg", "nan", "inf", "1e40g", "2g2"} {
		if got, err := parseMemory(text); err == nil {
			t.Errorf("%q is %d MiB", text, got)
		}
	}
}

func TestAgesAndAmountsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 42 * time.Second: "42s", 119 * time.Second: "119s", 17 * time.Minute: "17m", 119 * time.Minute: "119m", 5 * time.Hour: "5h", 47 * time.Hour: "47h", 80 * time.Hour: "3d",
	} {
		checkEqual(t, d.String(), formatAge(d), want)
	}
	checkEqual(t, "memory", formatMiB(512)+" "+formatMiB(1536)+" "+formatMiB(81920)+" "+formatMiB(2063597), "512 MiB 1.5 GiB 80 GiB 2015 GiB")
	checkEqual(t, "cores", formatCores(1024)+" "+formatCores(512)+" "+formatCores(256), "1 0.5 0.25")
}

func TestImageNamesBecomeContainerNames(t *testing.T) {
	for image, want := range map[string]string{
		"pinion/self": "self", "nvidia/cuda:12.4.1-base": "cuda", "host:5000/team/my.app@sha256:abc": "my-app", "localhost:5000/x": "x", strings.Repeat("a", 300): strings.Repeat("a", 250),
	} {
		checkEqual(t, image, imageName(image), want)
	}
}

var twoPulls = []spec.Pull{
	{Image: "nvidia/cuda:12.4", Done: 1 << 30, Total: 4 << 30},
	{Image: "busybox", Done: 3 << 20},
}

func TestBarsFitTheTerminal(t *testing.T) {
	checkEqual(t, "wide", strings.Join(progressBars(twoPulls, 80), "\n"), ""+
		"[=======                       ]  25% of 4.0 GiB nvidia/cuda:12.4\n"+
		"[                              ] 3.0 MiB busybox")
	checkEqual(t, "narrow", strings.Join(progressBars(twoPulls[:1], 50), "\n"), "[=======                       ]  25% of 4.0 GiB…")
	checkEqual(t, "nothing known", progressBars([]spec.Pull{{Image: "x"}}, 80)[0], "[                              ] asking the registry x")
	checkEqual(t, "more than all", progressBars([]spec.Pull{{Image: "x", Done: 9, Total: 8}}, 80)[0], "[==============================] 100% of 0.0 KiB x")
}

func TestAPainterMovesOnATerminalAndSpeaksNowAndThenElsewhere(t *testing.T) {
	var terminal, pipe strings.Builder
	moving, plain := &pullProgress{w: &terminal, columns: 80}, &pullProgress{w: &pipe}
	for second := range 7 {
		moving.update(twoPulls[1:], testTime.Add(time.Duration(second)*time.Second))
		plain.update(twoPulls[1:], testTime.Add(time.Duration(second)*time.Second))
	}
	moving.update(nil, testTime)
	plain.update(nil, testTime)
	if got := strings.Count(terminal.String(), "\x1b[1A\x1b[J"); got != 7 || !strings.HasSuffix(terminal.String(), "\x1b[J") {
		t.Errorf("redrawn %d times, cleared at the end: %q", got, terminal.String())
	}
	checkEqual(t, "pipe", pipe.String(), strings.Repeat("pulling busybox: 3.0 MiB\n", 2))
}
