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
ID    GROUP    WAITS FOR
3f2a  nightly  another host: none could ever …
91bc  train    its turn
`, 33: `
ID    WAITS FOR
3f2a  another host: none could e…
91bc  its turn
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
		if err := wide.Write(&out, Screen{Columns: columns}); err != nil {
			t.Fatal(err)
		}
		checkEqual(t, "table", out.String(), want)
	}
	pipe, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if ScreenOf(pipe) != (Screen{}) {
		t.Error("a pipe is no terminal")
	}
}

// renderAt is a table as a terminal of so many columns shows it.
func renderAt(t *testing.T, columns int, shown *Table) string {
	t.Helper()
	var out strings.Builder
	if err := shown.Write(&out, Screen{Columns: columns}); err != nil {
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

func TestNamesAreCutBeforeColumnsAreLeftOut(t *testing.T) {
	long := &Table{Header: []string{"ID", "TASK", "STATUS", "HOST", "AGE", "REASON"}, Optional: []string{"AGE"}}
	long.Add("3f2a91c04e12", "run-training-of-a-large-model:26[2]", "STOPPED", "gpu-of-the-lab (3f2a91c0)", "5m", "137 OutOfMemoryError: Container killed")
	checkEqual(t, "80 columns", renderAt(t, 80, long), `
ID            TASK            STATUS   HOST             REASON
3f2a91c04e12  run-tra…:26[2]  STOPPED  gpu-…(3f2a91c0)  137 OutOfMemoryError: C…
`[1:])
}

// What a row is about is recognized as well among many columns as among few.
func TestOtherNamesAreCutBeforeThoseOfTasks(t *testing.T) {
	shown := &Table{Header: []string{"ID", "TASK", "HOST", "REASON"}}
	shown.Add("3f2a91c04e12", "run-training-of-a-model:26", "gpu-of-the-large-lab-3", "OutOfMemoryError: Container killed")
	checkEqual(t, "76 columns", renderAt(t, 76, shown), `
ID            TASK                HOST              REASON
3f2a91c04e12  run-training-o…:26  gpu-of-the-larg…  OutOfMemoryError: Conta…
`[1:])
}

func TestAPipeGetsTheTextBriefWhereTheTableSaysSo(t *testing.T) {
	brief := &Table{Header: []string{"ID", "REASON"}, Brief: 12}
	brief.Add("3f2a91c04e12", "OutOfMemoryError: Container killed")
	checkEqual(t, "a pipe", renderAt(t, 0, brief), "ID            REASON\n3f2a91c04e12  OutOfMemory…\n")
	checkEqual(t, "a wide terminal", renderAt(t, 200, brief), "ID            REASON\n3f2a91c04e12  OutOfMemoryError: Container killed\n")
}

func TestColoursAreForTerminalsAndNotWithNoColor(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer tty.Close()
	for _, c := range []struct {
		noColor, terminal string
		want              bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"0", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.terminal)
		if got := ScreenOf(tty); !got.Terminal || got.Color != c.want {
			t.Errorf("NO_COLOR=%s TERM=%s: %+v", c.noColor, c.terminal, got)
		}
	}
	shown := Table{Header: []string{"STATUS", "NAME"}, Footer: "1 host"}
	shown.Add("LOST", "LOST")
	for want, screen := range map[string]Screen{
		"STATUS  NAME\nLOST    LOST\n":                                   {},
		"STATUS  NAME\n" + red + "LOST" + plain + "    LOST\n\n1 host\n": {Terminal: true, Color: true},
	} {
		var out strings.Builder
		if err := shown.Write(&out, screen); err != nil || out.String() != want {
			t.Errorf("%q, %v; want %q", &out, err, want)
		}
	}
}
