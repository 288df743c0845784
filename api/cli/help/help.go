// Package help is the text of --help, at most 80 columns wide.
package help

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
)

const width = 80

// Group is the commands of the program that belong together.
type Group struct {
	Name     string
	Commands []*cli.Command
}

// App is the help of the program.
func App(app *cli.App, groups []Group) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage: %s\n", app.Usage, app.UsageText)
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s:\n", g.Name)
		writeCommands(&b, g.Commands)
	}
	writeFlags(&b, app.Flags, "Options, before the command or after it:")
	fmt.Fprintf(&b, "\n%s\n\npinion COMMAND --help explains a command, with examples.\n", strings.Join(format.Wrap(app.Description, width), "\n"))
	return b.String()
}

// Command is the help of a command; name is its name with those of the commands above it. Options named in everywhere are
// those of every command, which the help of the program shows.
func Command(c *cli.Command, name string, everywhere []string) string {
	var b strings.Builder
	usage := name
	if len(c.Subcommands) > 0 {
		usage += " [COMMAND]"
	}
	fmt.Fprintf(&b, "%s\n\nUsage: %s\n", strings.Join(format.Wrap(c.Usage, width), "\n"), strings.TrimRight(usage+" [options] "+c.ArgsUsage, " "))
	if c.Description != "" {
		fmt.Fprintf(&b, "\n%s\n", description(c.Description))
	}
	if len(c.Subcommands) > 0 {
		fmt.Fprint(&b, "\nCommands:\n")
		writeCommands(&b, c.Subcommands)
	}
	own := slices.DeleteFunc(slices.Clone(c.Flags), func(f cli.Flag) bool { return slices.Contains(everywhere, f.Names()[0]) })
	writeFlags(&b, own, "Options:")
	fmt.Fprint(&b, "\nOptions of every command, such as -o json and --data-dir DIR: pinion --help\n")
	return b.String()
}

// writeCommands writes a line for each command that is not hidden, with its other names as far as there is room.
func writeCommands(b *strings.Builder, commands []*cli.Command) {
	const column = 14
	for _, c := range commands {
		names := strings.Join(slices.DeleteFunc(c.Names(), func(name string) bool { return name == "list" }), ", ")
		if len(names)+4 > column {
			names = c.Name
		}
		if !c.Hidden {
			writeRow(b, names, c.Usage, column)
		}
	}
}

// writeFlags writes the options that are not hidden, by their categories in the order in which they come.
func writeFlags(b *strings.Builder, flags []cli.Flag, title string) {
	const column = 24
	var titles []string
	entries := map[string]*strings.Builder{}
	for _, f := range flags {
		if visible, is := f.(cli.VisibleFlag); is && !visible.IsVisible() {
			continue
		}
		under := title
		if in, is := f.(cli.CategorizableFlag); is && in.GetCategory() != "" {
			under = in.GetCategory() + ":"
		}
		if entries[under] == nil {
			titles, entries[under] = append(titles, under), new(strings.Builder)
		}
		left, right := Option(f.(cli.DocGenerationFlag), f.Names())
		writeRow(entries[under], left, right, column)
	}
	for _, under := range titles {
		fmt.Fprintf(b, "\n%s\n%s", under, entries[under])
	}
}

// Option is how an option is written, and what it does. The first word of its usage in backquotes is its value.
func Option(f cli.DocGenerationFlag, names []string) (left, right string) {
	right = f.GetUsage()
	value := ""
	if parts := strings.SplitN(right, "`", 3); f.TakesValue() {
		if value = "VALUE"; len(parts) == 3 {
			value = parts[1]
		}
	}
	right = strings.ReplaceAll(right, "`", "")
	var long, short []string
	for _, name := range names {
		if len(name) == 1 {
			short = append(short, "-"+name)
		} else {
			long = append(long, "--"+name)
		}
	}
	left = strings.TrimRight(strings.Join(append(short, long...), ", ")+" "+value, " ")
	if text := f.GetDefaultText(); f.TakesValue() && text != "" && text != `""` {
		right += " (default: " + strings.Trim(text, `"`) + ")"
	}
	if env := f.GetEnvVars(); len(env) > 0 {
		right += " [$" + strings.Join(env, ", $") + "]"
	}
	return left, right
}

// writeRow writes a word and its explanation beside it, from a column on.
func writeRow(b *strings.Builder, left, right string, column int) {
	lines := format.Wrap(right, width-column)
	if len(left)+4 > column {
		fmt.Fprintf(b, "  %s\n", left)
		left = ""
	}
	for i, line := range lines {
		if i > 0 {
			left = ""
		}
		fmt.Fprintf(b, "  %-*s%s\n", column-2, left, line)
	}
}
