package table

import (
	"io"
	"os"
	"slices"

	"golang.org/x/term"
)

// fit is a copy of the table with as many columns as fit a terminal. Columns that are empty in every row are left out
// first, then the optional ones. A table without rows is returned as it is.
func (t *Table) fit(columns int) *Table {
	if len(t.rows) == 0 {
		return t
	}
	fitting := &Table{Header: slices.Clone(t.Header), rows: make([][]string, len(t.rows))}
	for i, row := range t.rows {
		fitting.rows[i] = slices.Clone(row)
	}
	for _, name := range slices.Concat(t.emptyColumns(), t.Optional) {
		if fitting.fits(columns) {
			break
		}
		if at := slices.Index(fitting.Header, name); at >= 0 {
			fitting.removeColumn(at)
		}
	}
	return fitting
}

// emptyColumns are the columns with an empty cell in every row.
func (t *Table) emptyColumns() []string {
	var names []string
	for at, name := range t.Header {
		if !slices.ContainsFunc(t.rows, func(row []string) bool { return !slices.Contains(emptyCells, row[at]) }) {
			names = append(names, name)
		}
	}
	return names
}

// emptyCells are the texts of cells without information.
var emptyCells = []string{"", "-", "0"}

// fits reports whether the table fits when only its last column is truncated, to no less than minLastWidth.
func (t *Table) fits(columns int) bool {
	widths := t.widths()
	last := len(widths) - 1
	widths[last] = min(widths[last], minLastWidth)
	return last == 0 || rowWidth(widths) <= columns
}

func (t *Table) removeColumn(at int) {
	t.Header = slices.Delete(t.Header, at, at+1)
	for i, row := range t.rows {
		t.rows[i] = slices.Delete(row, at, at+1)
	}
}

// TerminalWidth is the number of columns of a terminal, 0 when w is none.
func TerminalWidth(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
