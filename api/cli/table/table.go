// Package table prints rows of text that fit a terminal, and are complete in a pipe.
package table

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pinion/api/cli/format"
)

// Table is rows of text under a header. Its last column may be long text: it is the first to be truncated.
type Table struct {
	Header   []string
	rows     [][]string
	Optional []string // columns that are left out first on a narrow terminal, the least important one first
}

// Add appends a row. Line ends and other control characters become blanks: a row is one line.
func (t *Table) Add(cells ...string) {
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
	minCellWidth = 6  // a column is never narrower
	minLastWidth = 16 // the last column is narrowed down to this before others are
)

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Write prints the table. On a terminal of so many columns, columns are left out and then cells truncated until it fits;
// with 0 (piped) it is complete.
func (t *Table) Write(w io.Writer, columns int) error {
	if columns > 0 {
		t = t.fit(columns)
	}
	widths := t.widths()
	if columns > 0 {
		shrinkWidths(widths, columns)
	}
	for _, row := range append([][]string{t.Header}, t.rows...) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(joinRow(row, widths), " ")); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// shrinkWidths narrows the last column, which may be long text, and then the widest, until the row fits or every column is
// as narrow as it may be.
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
		cell = format.Truncate(cell, widths[i])
		line.WriteString(cell)
		line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
	}
	return line.String()
}
