package table

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Screen is what a table is printed for. The zero value is a pipe, or a file.
type Screen struct {
	Terminal bool
	Columns  int  // 0: no limit
	Color    bool // words that say how something is have a colour
}

// ScreenOf is the terminal that w is, or the zero value. NO_COLOR, when it is not empty, keeps colours away (no-color.org), and so does a
// terminal that calls itself dumb.
func ScreenOf(w io.Writer) Screen {
	file, ok := w.(*os.File)
	if !ok {
		return Screen{}
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return Screen{}
	}
	return Screen{Terminal: true, Columns: columns, Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// coloredColumns are the columns whose words have a colour.
var coloredColumns = []string{"STATUS", "HEALTH", "STATE", "OUTCOME"}

// The colours are those of the terminal, which the user has chosen to be readable.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

var colors = map[string]string{
	"RUNNING": green, "ACTIVE": green, "OK": green, "HEALTHY": green, "succeeded": green,
	"PROVISIONING": yellow, "PENDING": yellow, "ACTIVATING": yellow, "DEACTIVATING": yellow, "STOPPING": yellow, "DEPROVISIONING": yellow,
	"DRAINING": yellow, "DRAINED": yellow, "CLOCK": yellow, "stopped": yellow, "SUSPECT": yellow, "QUARANTINED": yellow,
	"UNKNOWN": red, "LOST": red, "SICK": red, "UNHEALTHY": red, "NEEDS_RESET": red, "NEEDS_REBOOT": red, "REPLACE": red, "failed": red, "refused": red,
}

// colored is the shown form of a word in its colour.
func colored(word, shown string) string {
	if color := colors[word]; color != "" {
		return color + shown + plain
	}
	return shown
}
