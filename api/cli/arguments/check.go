package arguments

import (
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/suggest"
)

// CheckValue checks the form of a value, and says what the flag takes.
func CheckValue(flag cli.Flag, written, value string) error {
	takes, err := "", error(nil)
	switch flag.(type) {
	case *cli.IntFlag, *cli.Int64Flag:
		takes = "a whole number"
		_, err = strconv.ParseInt(value, 0, 64)
	case *cli.Float64Flag:
		takes = "a number"
		_, err = strconv.ParseFloat(value, 64)
	case *cli.DurationFlag:
		takes = "a time such as 90s, 30m, 12h or 2d"
		_, err = time.ParseDuration(value)
	case *cli.BoolFlag:
		takes = "true or false, or stands alone"
		_, err = strconv.ParseBool(value)
	}
	if err != nil && flag.Names()[0] == "gpus" {
		return exit.Usagef("%s takes %s, not %q: Pinion chooses the GPUs", written, takes, value)
	}
	if err != nil {
		return exit.Usagef("%s takes %s, not %q", written, takes, value)
	}
	return nil
}

// withoutDays is the value of a flag for a span of time as the library reads it, which knows no days; another value as it is.
func withoutDays(flag cli.Flag, value string) string {
	if _, is := flag.(*cli.DurationFlag); !is || !strings.Contains(value, "d") {
		return value
	}
	span, err := format.ParseSpan(value)
	if err != nil {
		return value
	}
	return span.String()
}

// NoVerb is the error for a word behind a noun, such as "pinion team", that is none of its verbs.
func NoVerb(noun, word string, verbs []*cli.Command) error {
	var names []string
	for _, verb := range verbs {
		if !verb.Hidden {
			names = append(names, verb.Name)
		}
	}
	if hint := otherVerbs[noun][word]; hint != "" {
		return exit.Usagef("%s has no %q: %s", noun, word, hint)
	}
	return exit.Usagef("%s has no %q; there are %s", noun, word, strings.Join(names, ", "))
}

// unknown is the error for a flag that the command has not.
func (r *reader) unknown(word string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	hint := otherToolsHint(r.name, name)
	if near := r.nearest(name); hint == "" && near != "" {
		hint = "did you mean --" + near + "?"
	}
	if hint == "" {
		return exit.Usagef("%s has no option %s; see %s --help", r.name, word, r.name)
	}
	return exit.Usagef("%s has no option %s: %s", r.name, word, hint)
}

// nearest is the flag that was probably meant by a name; empty when none is near.
func (r *reader) nearest(name string) string { return suggest.Nearest(name, r.names()) }

// names are the long names of the flags that the help shows.
func (r *reader) names() (names []string) {
	for _, flag := range r.flags {
		visible, is := flag.(cli.VisibleFlag)
		if name := flag.Names()[0]; len(name) > 1 && (!is || visible.IsVisible()) {
			names = append(names, name)
		}
	}
	return names
}
