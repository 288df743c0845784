// Package arguments reads a command line before the library does, which stops at the first argument: flags may stand before the
// arguments or after them, short flags may be joined, and what is wrong is said with the flag as the user wrote it.
package arguments

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
)

// Order returns a command line with the flags of its command before the arguments, as the library wants them. A command whose
// arguments end in the command of a container ("IMAGE [COMMAND...]") keeps everything from its first argument on: that is the
// container's.
func Order(app *cli.App, line []string) ([]string, error) {
	if len(line) < 2 {
		return line, nil
	}
	global := reader{flags: append(slices.Clone(app.Flags), cli.VersionFlag), name: app.Name}
	rest, err := global.read(line[1:], true)
	ordered := append([]string{line[0]}, global.ordered...)
	if err == nil && len(rest) > 1 && rest[0] == "help" && app.Command(rest[1]) != nil {
		path, _, _ := leaf(app.Command(rest[1]), rest[1:])
		return slices.Concat(ordered, path, []string{"--help"}), nil
	}
	if err != nil || len(rest) == 0 || app.Command(rest[0]) == nil {
		return line, err
	}
	path, command, rest := leaf(app.Command(rest[0]), rest)
	r := reader{flags: command.Flags, name: app.Name + " " + strings.Join(path, " ")}
	words, err := r.read(rest, takesCommand(command))
	if err != nil {
		if len(rest) > 0 && !isFlag(rest[0]) && len(command.Subcommands) > 0 {
			return nil, NoVerb(r.name, rest[0], command.Subcommands) // its flags are not understood, because the verb is not
		}
		return nil, err
	}
	if r.help { // of the command, whatever else stands there; the library would look for the help of the first argument
		return slices.Concat(ordered, path, []string{"--help"}), nil
	}
	if takesCommand(command) && len(words) > 1 {
		if err := r.refuseOwnFlag(words[1], command); err != nil {
			return nil, err
		}
	}
	ordered = slices.Concat(ordered, path, r.ordered)
	if !takesCommand(command) && slices.ContainsFunc(words, func(word string) bool { return word == "--" || isFlag(word) }) {
		ordered = append(ordered, "--")
	}
	return append(ordered, words...), nil
}

// takesCommand reports whether the arguments of a command end in the command of a container.
func takesCommand(c *cli.Command) bool { return strings.Contains(c.ArgsUsage, "COMMAND") }

// leaf finds the command that the words name: subcommands may stand behind flags of theirs. rest is what follows, with the flags.
func leaf(command *cli.Command, line []string) (path []string, found *cli.Command, rest []string) {
	path, rest = []string{line[0]}, slices.Clone(line[1:])
	for at := 0; at < len(rest) && rest[at] != "--"; at++ {
		if isFlag(rest[at]) {
			if name, _, joined := strings.Cut(rest[at], "="); !joined && takesValue(command, strings.TrimLeft(name, "-")) {
				at++
			}
			continue
		}
		below := command.Command(rest[at])
		if below == nil {
			break
		}
		path, command = append(path, rest[at]), below
		rest = slices.Delete(rest, at, at+1)
		at--
	}
	return path, command, rest
}

// takesValue reports whether a flag of a command or of one below it takes a value.
func takesValue(command *cli.Command, name string) bool {
	if flag := findFlag(command.Flags, name); flag != nil {
		return !isBool(flag)
	}
	return slices.ContainsFunc(command.Subcommands, func(below *cli.Command) bool { return takesValue(below, name) })
}

// reader tells the flags of a line from its arguments.
type reader struct {
	flags   []cli.Flag
	name    string // of the command, for errors
	ordered []string
	help    bool    // --help is among the flags
	wrong   []error // what is wrong with the flags so far: all of it is said at once
}

// read collects the flags in ordered, and returns the arguments. With first it ends at the first argument, and returns all from there. The error is all that is
// wrong.
func (r *reader) read(line []string, first bool) (words []string, err error) {
	words = r.readWords(line, first)
	return words, exit.Join(r.wrong...)
}

func (r *reader) readWords(line []string, first bool) (words []string) {
	for len(line) > 0 {
		word := line[0]
		switch {
		case word == "--" && first:
			return line
		case word == "--":
			return append(words, line[1:]...)
		case !isFlag(word) && first:
			return line
		case !isFlag(word):
			words, line = append(words, word), line[1:]
		default:
			line = r.readFlag(line)
		}
	}
	return words
}

// readFlag takes the flag at the beginning of the line, with its value.
func (r *reader) readFlag(line []string) (rest []string) {
	word := line[0]
	name, value, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
	flag := findFlag(r.flags, name)
	if flag == nil {
		expanded, err := r.expand(word)
		if err != nil {
			r.wrong = append(r.wrong, err)
			return r.behindUnknown(name, joined, line[1:])
		}
		return append(expanded, line[1:]...)
	}
	r.help = r.help || flag == cli.HelpFlag
	full := "--" + flag.Names()[0] // the library refuses a line with two forms of the same flag
	if isBool(flag) && !joined {
		r.ordered = append(r.ordered, full)
		return line[1:]
	}
	rest = line[1:]
	if !joined {
		if len(line) == 1 {
			r.wrong = append(r.wrong, exit.Usagef("%s needs a value; see %s --help", word, r.name))
			return nil
		}
		value, rest = line[1], line[2:]
	}
	value = withoutDays(flag, value)
	if joined {
		r.ordered = append(r.ordered, full+"="+value)
	} else {
		r.ordered = append(r.ordered, full, value)
	}
	word, _, _ = strings.Cut(word, "=")
	if err := CheckValue(flag, word, value); err != nil {
		r.wrong = append(r.wrong, err)
	}
	return rest
}

// behindUnknown is what follows an unknown flag, without the value that the flag takes which was meant, so that what comes then is looked at too.
func (r *reader) behindUnknown(name string, joined bool, rest []string) []string {
	meant := findFlag(r.flags, r.nearest(name))
	if meant == nil || isBool(meant) || joined || len(rest) == 0 || isFlag(rest[0]) {
		return rest
	}
	return rest[1:]
}

// expand takes joined short flags apart: -ad is -a -d, -p80:8080 is -p 80:8080.
func (r *reader) expand(word string) ([]string, error) {
	letters := strings.TrimPrefix(word, "-")
	if strings.HasPrefix(letters, "-") || len(letters) < 2 {
		return nil, r.unknown(word)
	}
	var apart []string
	for i, letter := range letters {
		flag := findFlag(r.flags, string(letter))
		switch {
		case flag == nil:
			return nil, r.unknown(word)
		case !isBool(flag):
			return append(apart, "-"+string(letter), letters[i+len(string(letter)):]), nil
		}
		apart = append(apart, "-"+string(letter))
	}
	return apart, nil
}

// refuseOwnFlag refuses a flag of Pinion's right behind the image: it would be the container's, and the task would start without it.
func (r *reader) refuseOwnFlag(word string, command *cli.Command) error {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if word == "--" || !isFlag(word) || findFlag(r.flags, name) == nil {
		return nil
	}
	return exit.Usagef("%s comes after the image. If it is for pinion, put it before; if it is for the container, put -- before the container's command: %s [options] %s", word, r.name, command.ArgsUsage)
}

// isFlag reports whether a word is a flag; "-" alone is standard input.
func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' && word != "--" }

// findFlag finds a flag by a name of it. --help is every command's.
func findFlag(flags []cli.Flag, name string) cli.Flag {
	if slices.Contains(cli.HelpFlag.Names(), name) {
		return cli.HelpFlag
	}
	at := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if at < 0 {
		return nil
	}
	return flags[at]
}

func isBool(flag cli.Flag) bool {
	_, is := flag.(*cli.BoolFlag)
	return is
}
