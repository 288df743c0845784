package cli

import "slices"

// fit is the table with as many columns as a terminal has room for: first go those that tell nothing of any row, then the
// spare ones. A table without rows is left as it is.
func (t *table) fit(columns int) *table {
	if len(t.rows) == 0 {
		return t
	}
	fitting := &table{header: slices.Clone(t.header), rows: make([][]string, len(t.rows))}
	for i, row := range t.rows {
		fitting.rows[i] = slices.Clone(row)
	}
	for _, name := range slices.Concat(t.emptyColumns(), t.optional) {
		if fitting.fits(columns) {
			break
		}
		if at := slices.Index(fitting.header, name); at >= 0 {
			fitting.removeColumn(at)
		}
	}
	return fitting
}

// emptyColumns are the columns without a cell that tells anything.
func (t *table) emptyColumns() []string {
	var names []string
	for at, name := range t.header {
		if !slices.ContainsFunc(t.rows, func(row []string) bool { return !slices.Contains(emptyCells, row[at]) }) {
			names = append(names, name)
		}
	}
	return names
}

// emptyCells is what cells say that tell nothing.
var emptyCells = []string{"", "-", "0"}

// fits reports whether nothing but the last column has to be cut, and of that one its beginning stays.
func (t *table) fits(columns int) bool {
	widths := t.widths()
	last := len(widths) - 1
	widths[last] = min(widths[last], minLastWidth)
	return last == 0 || rowWidth(widths) <= columns
}

func (t *table) removeColumn(at int) {
	t.header = slices.Delete(t.header, at, at+1)
	for i, row := range t.rows {
		t.rows[i] = slices.Delete(row, at, at+1)
	}
}
