package table

import (
	"cmp"
	"slices"
)

// Widths on a narrow terminal. Names are cut to nameWidth and the text to Table.Text, or textWidth, before columns are left out; when that is not enough,
// other names than those of tasks to otherNameWidth, then names and text to minNameWidth and minTextWidth, and then whatever is the widest.
const (
	nameWidth      = 18
	otherNameWidth = 16
	minNameWidth   = 12
	textWidth      = 24
	minTextWidth   = 16
	minWidth       = 6
)

// fit is a copy of the table with as many columns as fit a terminal. Columns that are empty in every row are left out first, then the
// optional ones. A table without rows is returned as it is.
func (t *Table) fit(columns int) *Table {
	if len(t.rows) == 0 {
		return t
	}
	fitting := *t
	fitting.Header, fitting.rows = slices.Clone(t.Header), make([][]string, len(t.rows))
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
	return &fitting
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

// fits reports whether the table fits when names and text are cut as far as one can read them well.
func (t *Table) fits(columns int) bool {
	widths := t.widths()
	last := len(widths) - 1
	for i := range widths {
		widths[i] = min(widths[i], t.nameWidth(i, nameWidth))
	}
	widths[last] = min(t.widths()[last], cmp.Or(t.Text, textWidth))
	return last == 0 || rowWidth(widths) <= columns
}

// nameWidth is the width to which a column may be cut: an id is of no use when digits of it are missing.
func (t *Table) nameWidth(column, width int) int {
	if t.Header[column] == "ID" {
		return 64
	}
	return width
}

func (t *Table) removeColumn(at int) {
	t.Header = slices.Delete(t.Header, at, at+1)
	for i, row := range t.rows {
		t.rows[i] = slices.Delete(row, at, at+1)
	}
}

// narrow cuts widths until a row fits, or every column is as narrow as it may be: first names, then the text.
func (t *Table) narrow(widths []int, columns int) {
	var names, others []int
	last := len(widths) - 1
	for i := range last {
		if names = append(names, i); t.Header[i] != "TASK" {
			others = append(others, i)
		}
	}
	for _, step := range []struct {
		columns []int
		width   int
	}{{names, nameWidth}, {[]int{last}, cmp.Or(t.Text, textWidth)}, {others, otherNameWidth}, {names, minNameWidth}, {[]int{last}, minTextWidth}} {
		cut(widths, step.columns, columns, func(i int) int { return t.nameWidth(i, step.width) })
	}
	cut(widths, append(names, last), columns, func(int) int { return minWidth })
}

// cut takes from the widest of some columns until a row fits, or each is as narrow as it may be.
func cut(widths, of []int, columns int, narrowest func(column int) int) {
	for total := rowWidth(widths); total > columns; total-- {
		widest := -1
		for _, i := range of {
			if widths[i] > narrowest(i) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
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
