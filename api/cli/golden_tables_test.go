package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pinion/api/cli/table"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// Each file of testdata/tables is what a command shows of a pool, on four widths of a terminal and with few and many rows: read them, they
// are for people.
func TestTablesAreAsPeopleReadThem(t *testing.T) {
	for name, line := range map[string]string{
		"ps": "ps", "ps-all": "ps -a", "ps-past": "ps --since 2d", "hosts": "hosts", "gpus": "gpus", "queue": "queue", "why": "why " + taskOne,
		"teams": "team ls", "keys": "key ls", "tokens": "token ls", "usage": "usage --by day,team,family", "definitions": "definition ls", "events": "events",
		"oidc": "oidc show", "ca": "ca ls", "limits": "limits", "services": "service ls", "daemons": "daemon ls", "secrets": "secret ls", "images": "image ls", "secrets-all": "secret ls --all",
		"top": "top --once", "top-idle": "top --once --idle", "top-task": "top --once --by task",
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for _, rows := range []int{1, 30, 3000} {
				h := sampleHost(t, rows)
				for _, columns := range []int{80, 100, 120, 200} {
					fmt.Fprintf(&text, "# %d columns, %d\n", columns, rows)
					text.WriteString(excerpt(shownOn(t, h, columns, line)))
				}
			}
			checkGolden(t, name, text.String())
		})
	}
}

// shownOn is what a command shows on a terminal of so many columns, with its notes.
func shownOn(t *testing.T, h *fakeHost, columns int, line string) string {
	t.Helper()
	p := Program{}
	p.system.Screen = &table.Screen{Terminal: true, Columns: columns}
	got := pinionWith(t, p, h, append(strings.Fields(line), "--utc")...)
	if got.code != 0 {
		t.Fatalf("%s: %+v", line, got)
	}
	for shown := range strings.Lines(got.out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(shown, "\n")); n > columns && !strings.HasPrefix(line, "events") {
			t.Errorf("%s is %d columns wide on %d: %s", line, n, columns, shown)
		}
	}
	return got.out + got.err
}

// excerpt is the beginning and the end of a long text, with how much is between.
func excerpt(text string) string {
	const head, tail = 12, 5
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if between := len(lines) - head - tail; between > 30 {
		text = strings.Join(lines[:head], "") + fmt.Sprintf("... %d lines ...\n", between) + strings.Join(lines[head+between:], "") + "\n"
	}
	return text + "\n"
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "tables", name+".txt")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, path+" (go test ./api/cli -run Tables -rewrite writes it anew)", got, string(want))
}
