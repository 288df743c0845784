package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table is rows of text under a header.
type table struct {
	header []string
	rows   [][]string
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
	gap       = "  "
	narrowest = 6 // columns a cell keeps when the terminal is too narrow
)

// write prints the table. With columns of a terminal it fits, at the cost of the widest cells; with 0 (piped) nothing
// is ever cut off.
func (t *table) write(w io.Writer, columns int) error {
	widths := t.widths()
	if columns > 0 {
		shrink(widths, columns)
	}
	for _, row := range append([][]string{t.header}, t.rows...) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(join(row, widths), " ")); err != nil {
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

// shrink takes from the widest column, one by one, until the row fits or nothing is left to take.
func shrink(widths []int, columns int) {
	total := len(gap) * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > columns; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrowest {
			return
		}
		widths[widest]--
	}
}

func join(row []string, widths []int) string {
	var line strings.Builder
	for i, cell := range row {
		if i > 0 {
			line.WriteString(gap)
		}
		cell = cut(cell, widths[i])
		line.WriteString(cell)
		line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
	}
	return line.String()
}

// cut shortens text to so many characters, the last of them telling that something is missing.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
