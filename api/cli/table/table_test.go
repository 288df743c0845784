package table

import (
	"os"
	"strings"
	"testing"
)

func TestColumnsGoBeforeCellsAreCut(t *testing.T) {
	shown := &Table{Header: []string{"ID", "TEAM", "PRIORITY", "GROUP", "WAITS FOR"}, Optional: []string{"PRIORITY", "GROUP"}}
	shown.Add("3f2a", "-", "50", "nightly", "another host: none could ever run it")
	shown.Add("91bc", "-", "0", "train", "its turn")
	for columns, want := range map[int]string{
		0: `
ID    TEAM  PRIORITY  GROUP    WAITS FOR
3f2a  -     50        nightly  another host: none could ever run it
91bc  -     0         train    its turn
`, 80: `
ID    TEAM  PRIORITY  GROUP    WAITS FOR
3f2a  -     50        nightly  another host: none could ever run it
91bc  -     0         train    its turn
`, 46: `
ID    PRIORITY  GROUP    WAITS FOR
3f2a  50        nightly  another host: none c…
91bc  0         train    its turn
`, 33: `
ID    GROUP    WAITS FOR
3f2a  nightly  another host: non…
91bc  train    its turn
`, 30: `
ID    WAITS FOR
3f2a  another host: none coul…
91bc  its turn
`} {
		if got := renderAt(t, columns, shown); got != want[1:] {
			t.Errorf("%d columns:\n%s\nwant\n%s", columns, got, want[1:])
		}
	}
	if len(shown.Header) != 5 || len(shown.rows[0]) != 5 {
		t.Errorf("the table itself stays whole: %+v", shown)
	}
}

func TestATableFitsItsTerminalAndIsNeverCutInAPipe(t *testing.T) {
	wide := Table{Header: []string{"ID", "REASON"}}
	wide.Add("1", "a long story\nof what went wrong")
	for columns, want := range map[int]string{
		0:  "ID  REASON\n1   a long story of what went wrong\n",
		20: "ID  REASON\n1   a long story of…\n",
		3:  "ID  REASON\n1   a lon…\n", // narrower than sense: cells keep six columns
	} {
		var out strings.Builder
		if err := wide.Write(&out, columns); err != nil {
			t.Fatal(err)
		}
		checkEqual(t, "table", out.String(), want)
	}
	pipe, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if TerminalWidth(pipe) != 0 {
		t.Error("a pipe is no terminal")
	}
}

// renderAt is a table as a terminal of so many columns shows it.
func renderAt(t *testing.T, columns int, shown *Table) string {
	t.Helper()
	var out strings.Builder
	if err := shown.Write(&out, columns); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// checkEqual fails with both texts when they differ.
func checkEqual(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n--- got\n%s\n--- want\n%s", what, got, want)
	}
}
