package reference

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/help"
)

// Man is the manual page pinion(1), in the macros of man(7): a section of the program, and a subsection for each command.
func Man(app *cli.App, date time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH PINION 1 %s \"pinion %s\" \"Pinion\"\n", date.Format("2006-01-02"), roff(app.Version))
	fmt.Fprintf(&b, ".SH NAME\npinion \\- %s\n", roff(strings.ToLower(app.Usage[:1])+strings.TrimSuffix(app.Usage[1:], ".")))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n.SH DESCRIPTION\n", roff(app.UsageText))
	writeText(&b, app.Description)
	b.WriteString(".SH OPTIONS\nThey stand before the command or after it.\n")
	global := globalNames(app)
	writeOptions(&b, app.Flags, nil)
	b.WriteString(".SH COMMANDS\n")
	for _, command := range app.Commands {
		writeCommand(&b, command, "pinion", global)
	}
	b.WriteString(".SH FILES\n.TP\n/etc/pinion/config.yaml\nOptions of\n.BR \"pinion up\" .\n.TP\n/var/lib/pinion\nWhat a host keeps.\n")
	return b.String()
}

// globalNames are the names of the options of every command.
func globalNames(app *cli.App) (names []string) {
	for _, flag := range app.Flags {
		names = append(names, flag.Names()[0])
	}
	return append(names, "help")
}

func writeCommand(b *strings.Builder, c *cli.Command, above string, global []string) {
	if c.Hidden {
		return
	}
	name := above + " " + c.Name
	fmt.Fprintf(b, ".SS %s\n%s.\n", roff(strings.TrimSpace(name+" "+c.ArgsUsage)), roff(strings.TrimSuffix(c.Usage, ".")))
	if c.Description != "" {
		b.WriteString(".PP\n")
		writeText(b, c.Description)
	}
	writeOptions(b, c.Flags, global)
	for _, below := range c.Subcommands {
		writeCommand(b, below, name, global)
	}
}

// writeOptions writes the options that people are shown, but for those named in without.
func writeOptions(b *strings.Builder, flags []cli.Flag, without []string) {
	for _, flag := range flags {
		if visible, is := flag.(cli.VisibleFlag); is && !visible.IsVisible() || slices.Contains(without, flag.Names()[0]) {
			continue
		}
		left, right := help.Option(flag.(cli.DocGenerationFlag), flag.Names())
		fmt.Fprintf(b, ".TP\n%s\n%s\n", roff(left), roff(right))
	}
}

// writeText writes paragraphs; lines that are indented stay as they are.
func writeText(b *strings.Builder, text string) {
	literal, blank := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if line == "" {
			blank = true
			continue
		}
		switch indented := strings.HasPrefix(line, "   "); {
		case indented && !literal:
			b.WriteString(".RS 4\n.nf\n")
			literal = true
		case !indented && literal:
			b.WriteString(".fi\n.RE\n.PP\n")
			literal = false
		case blank && !literal:
			b.WriteString(".PP\n")
		}
		blank = false
		b.WriteString(roff(strings.TrimSpace(line)) + "\n")
	}
	if literal {
		b.WriteString(".fi\n.RE\n")
	}
}

// roff has what roff reads otherwise escaped: backslashes, hyphens that are to be copied, and control characters that begin a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ", "\t", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
