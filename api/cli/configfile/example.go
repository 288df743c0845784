package configfile

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/arguments"
	"pinion/api/cli/format"
	"pinion/api/cli/help"
)

// exampleWidth is the longest line of an example.
const exampleWidth = 100

// Example is a file with every option that a file may have, none of which is set.
func Example(flags []cli.Flag) string {
	var b strings.Builder
	b.WriteString("# Options of `pinion up` on this host. What the command line or the environment gives goes first. A change counts from the next start on:\n")
	b.WriteString("# systemctl restart pinion. Tasks run on meanwhile.\n")
	for _, flag := range flags {
		name := flag.Names()[0]
		if visible, is := flag.(cli.VisibleFlag); elsewhere[name] != "" || is && !visible.IsVisible() {
			continue
		}
		left, right := help.Option(flag.(cli.DocGenerationFlag), flag.Names())
		b.WriteString("\n")
		for _, line := range format.Wrap(right, exampleWidth) {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		fmt.Fprintf(&b, "#%s: %s\n", name, exampleValue(flag, left))
	}
	return b.String()
}

// exampleValue is the default of an option, or how help names its value when it has no default that could be written here.
func exampleValue(flag cli.Flag, option string) string {
	if _, is := flag.(*cli.BoolFlag); is {
		return "false"
	}
	_, value, _ := strings.Cut(option, " ")
	if _, repeats := flag.(*cli.StringSliceFlag); repeats {
		return fmt.Sprintf("[%q]", value)
	}
	text := strings.Trim(flag.(cli.DocGenerationFlag).GetDefaultText(), `"`)
	if text != "" && !strings.Contains(text, " ") && arguments.CheckValue(flag, flag.Names()[0], text) == nil {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q", value)
}
