// Package table prints rows of text that fit a terminal, and are complete in a pipe.
package table

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"pinion/api/cli/format"
)

// Table is rows of text under a header. Its last column may be long text.
type Table struct {
	Header   []string
	rows     [][]string
	Optional []string // columns that are left out on a narrow terminal, the least important one first
	Text     int      // columns that the last column gets before optional ones are left out; 0: textWidth
	Empty    string   // what is said when there are no rows
	Brief    int      // longest text of the last column where no width bounds it, as in a pipe; 0: as long as it is
	Footer   string   // a line under the rows, for people: a pipe does not get it
}

// BriefReason is how much of the reason of a task's end a pipe gets: an error of a registry or of runc may be a page long. -o wide has all of it.
const BriefReason = 100

// oneLine has a cell stay on its line.
var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

// Add appends a row, of plain text: see format.Plain. A row is one line.
func (t *Table) Add(cells ...string) {
	for i, cell := range cells {
		if cell = format.Plain(cell); strings.ContainsAny(cell, "\n\t") {
			cell = oneLine.Replace(cell)
		}
		cells[i] = cell
	}
	t.rows = append(t.rows, cells)
}

const columnGap = "  "

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Cell is the text in a row and a column.
func (t *Table) Cell(row, column int) string { return t.rows[row][column] }

// Write prints the table. On a screen of so many columns, columns are left out and cells are cut until it fits.
func (t *Table) Write(w io.Writer, screen Screen) error {
	if screen.Columns > 0 {
		t = t.fit(screen.Columns)
	}
	widths := t.widths()
	last := len(widths) - 1
	switch {
	case screen.Columns > 0:
		t.narrow(widths, screen.Columns)
	case t.Brief > 0:
		widths[last] = min(widths[last], t.Brief)
	}
	var text strings.Builder
	t.writeRow(&text, t.Header, widths, false)
	for _, row := range t.rows {
		t.writeRow(&text, row, widths, screen.Color)
	}
	if t.Footer != "" && screen.Terminal {
		fmt.Fprintf(&text, "\n%s\n", strings.Join(format.Wrap(t.Footer, screen.Columns), "\n"))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Header))
	for i, header := range t.Header {
		widths[i] = utf8.RuneCountInString(header)
	}
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// writeRow writes one line. The last column is text, the others are names.
func (t *Table) writeRow(text *strings.Builder, row []string, widths []int, color bool) {
	blanks := 0 // that come before the next text; those at the end of a line are left out
	for i, cell := range row {
		cut := format.TruncateName
		if i == len(row)-1 {
			cut = format.Truncate
		}
		shown := cut(cell, widths[i])
		padding := widths[i] - utf8.RuneCountInString(shown)
		if color && slices.Contains(coloredColumns, t.Header[i]) {
			shown = colored(cell, shown)
		}
		if shown != "" {
			writeBlanks(text, blanks)
			text.WriteString(shown)
			blanks = 0
		}
		blanks += padding + len(columnGap)
	}
	text.WriteByte('\n')
}

func writeBlanks(text *strings.Builder, n int) {
	for range n {
		text.WriteByte(' ')
	}
}
