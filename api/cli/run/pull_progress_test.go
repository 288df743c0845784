package run

import (
	"strings"
	"testing"
	"time"

	"pinion/api/client"
)

func TestImageNamesBecomeContainerNames(t *testing.T) {
	for image, want := range map[string]string{
		"pinion/self": "self", "nvidia/cuda:12.4.1-base": "cuda", "host:5000/team/my.app@sha256:abc": "my-app", "localhost:5000/x": "x", strings.Repeat("a", 300): strings.Repeat("a", 250),
	} {
		checkEqual(t, image, imageName(image), want)
	}
}

var twoPulls = []client.Pull{
	{Image: "nvidia/cuda:12.4", Done: 1 << 30, Total: 4 << 30},
	{Image: "busybox", Done: 3 << 20},
}

func TestBarsFitTheTerminal(t *testing.T) {
	checkEqual(t, "wide", strings.Join(progressBars(twoPulls, 80), "\n"), ""+
		"[=======                       ]  25% of 4.0 GiB nvidia/cuda:12.4\n"+
		"[                              ] 3.0 MiB busybox")
	checkEqual(t, "narrow", strings.Join(progressBars(twoPulls[:1], 50), "\n"), "[=======                       ]  25% of 4.0 GiB…")
	checkEqual(t, "nothing known", progressBars([]client.Pull{{Image: "x"}}, 80)[0], "[                              ] resolving x")
	checkEqual(t, "more than all", progressBars([]client.Pull{{Image: "x", Done: 9, Total: 8}}, 80)[0], "[==============================] 100% of 0.0 KiB x")
}

func TestAPainterMovesOnATerminalAndSpeaksNowAndThenElsewhere(t *testing.T) {
	var terminal, pipe strings.Builder
	moving, plain := &pullProgress{w: &terminal, columns: 80}, &pullProgress{w: &pipe}
	for second := range 7 {
		moving.update(twoPulls[1:], time.Unix(0, 0).Add(time.Duration(second)*time.Second))
		plain.update(twoPulls[1:], time.Unix(0, 0).Add(time.Duration(second)*time.Second))
	}
	moving.update(nil, time.Unix(0, 0))
	plain.update(nil, time.Unix(0, 0))
	if got := strings.Count(terminal.String(), "\x1b[1A\x1b[J"); got != 7 || !strings.HasSuffix(terminal.String(), "\x1b[J") {
		t.Errorf("redrawn %d times, cleared at the end: %q", got, terminal.String())
	}
	checkEqual(t, "pipe", pipe.String(), strings.Repeat("pulling busybox: 3.0 MiB\n", 2))
}

// checkEqual fails with both texts when they differ.
func checkEqual(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n--- got\n%s\n--- want\n%s", what, got, want)
	}
}
