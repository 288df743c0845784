package run

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pinion/api/cli/format"
	"pinion/api/client"
)

const (
	progressInterval = 5 * time.Second // between lines of progress where there is no terminal
	barColumns       = 30
)

// pullProgress shows how far image pulls have come: bars that move on a terminal, a line now and then elsewhere.
type pullProgress struct {
	w          io.Writer
	columns    int // of the terminal, 0 when there is none
	drawnLines int // lines of bars on the screen now
	images     []string
	printedAt  time.Time
}

// update draws the pulls as they stand now; none takes away what was drawn.
func (p *pullProgress) update(pulls []client.Pull, now time.Time) {
	if p.columns > 0 {
		p.draw(progressBars(pulls, p.columns))
		return
	}
	names := make([]string, len(pulls))
	for i, pull := range pulls {
		names[i] = pull.Image
	}
	if len(pulls) == 0 || slices.Equal(names, p.images) && now.Sub(p.printedAt) < progressInterval {
		return
	}
	p.images, p.printedAt = names, now
	for _, pull := range pulls {
		fmt.Fprintf(p.w, "pulling %s: %s\n", pull.Image, pullAmount(pull))
	}
}

// draw replaces the lines drawn before.
func (p *pullProgress) draw(lines []string) {
	if p.drawnLines > 0 {
		fmt.Fprintf(p.w, "\x1b[%dA\x1b[J", p.drawnLines) // up to the first of them, and clear from there
	}
	for _, line := range lines {
		fmt.Fprintln(p.w, line)
	}
	p.drawnLines = len(lines)
}

// progressBars draws one line for each pull, no wider than the terminal.
func progressBars(pulls []client.Pull, columns int) []string {
	lines := make([]string, len(pulls))
	for i, pull := range pulls {
		lines[i] = format.Truncate(fmt.Sprintf("%s %s %s", progressBar(pull), pullAmount(pull), pull.Image), columns-1)
	}
	return lines
}

func progressBar(pull client.Pull) string {
	filled := 0
	if pull.Total > 0 {
		filled = int(min(pull.Done, pull.Total) * barColumns / pull.Total)
	}
	return "[" + strings.Repeat("=", filled) + strings.Repeat(" ", barColumns-filled) + "]"
}

// pullAmount is "42% of 2.9 GiB", or how much is here while the whole is not known.
func pullAmount(pull client.Pull) string {
	switch {
	case pull.Total <= 0 && pull.Done <= 0:
		return "resolving"
	case pull.Total <= 0:
		return format.Bytes(pull.Done)
	}
	return fmt.Sprintf("%3d%% of %s", min(pull.Done, pull.Total)*100/pull.Total, format.Bytes(pull.Total))
}
