package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/spec"
)

const (
	plainInterval = 5 * time.Second // between lines of progress where there is no terminal
	barColumns    = 30
)

// pullPainter shows how far image pulls have come: bars that move on a terminal, a line now and then elsewhere.
type pullPainter struct {
	w       io.Writer
	columns int // of the terminal, 0 when there is none
	drawn   int // lines of bars on the screen now
	images  []string
	told    time.Time
}

// show draws the pulls as they stand now; none takes away what was drawn.
func (p *pullPainter) show(pulls []spec.Pull, now time.Time) {
	if p.columns > 0 {
		p.draw(bars(pulls, p.columns))
		return
	}
	images := make([]string, len(pulls))
	for i, pull := range pulls {
		images[i] = pull.Image
	}
	if len(pulls) == 0 || slices.Equal(images, p.images) && now.Sub(p.told) < plainInterval {
		return
	}
	p.images, p.told = images, now
	for _, pull := range pulls {
		fmt.Fprintf(p.w, "pulling %s: %s\n", pull.Image, amount(pull))
	}
}

// draw replaces the lines drawn before.
func (p *pullPainter) draw(lines []string) {
	if p.drawn > 0 {
		fmt.Fprintf(p.w, "\x1b[%dA\x1b[J", p.drawn) // up to the first of them, and clear from there
	}
	for _, line := range lines {
		fmt.Fprintln(p.w, line)
	}
	p.drawn = len(lines)
}

// bars draws one line for each pull, no wider than the terminal.
func bars(pulls []spec.Pull, columns int) []string {
	lines := make([]string, len(pulls))
	for i, pull := range pulls {
		lines[i] = cut(fmt.Sprintf("%s %s %s", bar(pull), amount(pull), pull.Image), columns-1)
	}
	return lines
}

func bar(pull spec.Pull) string {
	filled := 0
	if pull.Total > 0 {
		filled = int(min(pull.Done, pull.Total) * barColumns / pull.Total)
	}
	return "[" + strings.Repeat("=", filled) + strings.Repeat(" ", barColumns-filled) + "]"
}

// amount is "42% of 2.9 GiB", or how much is here while the whole is not known.
func amount(pull spec.Pull) string {
	switch {
	case pull.Total <= 0 && pull.Done <= 0:
		return "asking the registry"
	case pull.Total <= 0:
		return bytesText(pull.Done)
	}
	return fmt.Sprintf("%3d%% of %s", min(pull.Done, pull.Total)*100/pull.Total, bytesText(pull.Total))
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
