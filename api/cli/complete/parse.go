package complete

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// parsed is a command line that is being written. What is wrong in it is passed over: it may be right soon.
type parsed struct {
	command    *cli.Command // the last one that the words name; without a name: the program
	path       []string     // its names
	arguments  []string     // of the command, before the last word
	flags      map[string]string
	word       string   // the last word, of a flag's value only that
	flag       cli.Flag // whose value the last word is; nil: of none
	prefix     string   // of the last word before that value, as in --cluster=
	noFlags    bool     // behind --
	containers bool     // the last word is of the command of a container
}

// parse finds out what the last of the words is. The first one is the program.
func parse(app *cli.App, words []string) parsed {
	p := parsed{command: &cli.Command{Subcommands: app.Commands, Flags: app.Flags}, flags: map[string]string{}}
	last := len(words) - 1
	p.word = words[last]
	for i := 1; i < last; i++ {
		i = p.read(words, i)
		if i >= last {
			p.flag = p.findFlag(words[last-1])
			return p
		}
	}
	if name, value, joined := strings.Cut(p.word, "="); joined && isFlag(name) && !p.noFlags && !p.containers {
		if p.flag = p.findFlag(name); p.flag != nil {
			p.prefix, p.word = name+"=", value
		}
	}
	return p
}

// read takes the word at i, and returns the index of the last word that belongs to it: the value of a flag follows it.
func (p *parsed) read(words []string, i int) int {
	word := words[i]
	switch {
	case p.containers:
	case word == "--" && !p.noFlags:
		p.noFlags, p.containers = true, p.takesCommand() && len(p.arguments) > 0
	case isFlag(word) && !p.noFlags:
		name, value, joined := strings.Cut(word, "=")
		flag := p.findFlag(name)
		if flag == nil || isBool(flag) {
			return i
		}
		if !joined {
			if i++; i < len(words) {
				value = words[i]
			}
		}
		p.flags[flag.Names()[0]] = value
	default:
		below := find(p.command.Subcommands, word)
		if below != nil && p.arguments == nil && !p.noFlags {
			p.command, p.path = below, append(p.path, below.Name)
			return i
		}
		p.arguments = append(p.arguments, word)
		p.containers = p.takesCommand()
	}
	return i
}

// takesCommand reports whether what follows the first argument is a container's.
func (p *parsed) takesCommand() bool { return strings.Contains(p.command.ArgsUsage, "COMMAND") }

// findFlag is the flag that a word names: of joined short ones the last, whose value would follow. Flags of the program are those of every command.
func (p *parsed) findFlag(word string) cli.Flag {
	name := strings.TrimLeft(word, "-")
	if !strings.HasPrefix(word, "--") && len(name) > 1 {
		name = name[len(name)-1:]
	}
	at := slices.IndexFunc(p.command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if at < 0 {
		return nil
	}
	return p.command.Flags[at]
}

func find(commands []*cli.Command, name string) *cli.Command {
	at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	if at < 0 {
		return nil
	}
	return commands[at]
}

func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' && word != "--" }

func isBool(flag cli.Flag) bool {
	_, is := flag.(*cli.BoolFlag)
	return is
}
