package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table is rows of text under a header. Its last column may be a story: it is the first to be cut.
type table struct {
	header   []string
	rows     [][]string
	optional []string // columns that a narrow terminal can do without, the least important first
}

// add appends a row. Line ends and other control characters become blanks: a row is one line.
func (t *table) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, cell)
	}
	t.rows = append(t.rows, cells)
}

const (
	columnGap    = "  "
	minCellWidth = 6  // columns a cell keeps when the terminal is too narrow
	minLastWidth = 16 // columns that are enough of the last cell
)

// write prints the table. With columns of a terminal it fits: columns are left out, then cells are cut. With 0 (piped) all
// is there.
func (t *table) write(w io.Writer, columns int) error {
	if columns > 0 {
		t = t.fit(columns)
	}
	widths := t.widths()
	if columns > 0 {
		shrinkWidths(widths, columns)
	}
	for _, row := range append([][]string{t.header}, t.rows...) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(joinRow(row, widths), " ")); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) widths() []int {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// shrinkWidths takes from the last column, which may tell a story, and then from the widest, one by one, until the row fits or
// nothing is left to take.
func shrinkWidths(widths []int, columns int) {
	last := len(widths) - 1
	for total := rowWidth(widths); total > columns; total-- {
		widest := last
		if widths[last] <= minLastWidth {
			widest = slices.Index(widths, slices.Max(widths))
		}
		if widths[widest] <= minCellWidth {
			return
		}
		widths[widest]--
	}
}

// rowWidth is the width of a row.
func rowWidth(widths []int) int {
	total := len(columnGap) * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	return total
}

func joinRow(row []string, widths []int) string {
	var line strings.Builder
	for i, cell := range row {
		if i > 0 {
			line.WriteString(columnGap)
		}
		cell = truncate(cell, widths[i])
		line.WriteString(cell)
		line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
	}
	return line.String()
}

// truncate shortens text to so many characters, the last of them telling that something is missing.
func truncate(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
