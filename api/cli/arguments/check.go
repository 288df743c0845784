package arguments

import (
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/words"
)

// checkValue checks the form of a value, and says what the flag takes.
func checkValue(flag cli.Flag, written, value string) error {
	takes, err := "", error(nil)
	switch flag.(type) {
	case *cli.IntFlag, *cli.Int64Flag:
		takes = "a whole number"
		_, err = strconv.ParseInt(value, 0, 64)
	case *cli.Float64Flag:
		takes = "a number"
		_, err = strconv.ParseFloat(value, 64)
	case *cli.DurationFlag:
		takes = "a time such as 90s, 30m or 12h"
		_, err = time.ParseDuration(value)
	case *cli.BoolFlag:
		takes = "true or false, or stands alone"
		_, err = strconv.ParseBool(value)
	}
	if err != nil {
		return exit.Usagef("%s takes %s, not %q", written, takes, value)
	}
	return nil
}

// foreign answers flags of Docker that Pinion has not.
var foreign = map[string]string{
	"i": interactive, "t": interactive, "it": interactive, "ti": interactive, "tty": interactive, "interactive": interactive,
	"restart":    "--retries N restarts a task that fails",
	"link":       "tasks reach one another by published ports, or with --network host",
	"gpu":        "did you mean --gpus?",
	"mount":      "--volume HOST:CONTAINER[:ro] mounts a directory",
	"privileged": "`privileged` is a field of task definitions, `pinion register`; the host has to allow it, `pinion up --allow privileged`",
	"cap-add":    "capabilities are a field of task definitions, `pinion register`; the host has to allow them, `pinion up --allow`",
	"namespace":  "--cluster NAME is a named part of the pool",
}

// ofCommand answers flags that mean something else with one command.
var ofCommand = map[string]string{
	"pinion stop --t": stopTimeout, "pinion stop --time": stopTimeout, "pinion stop --timeout": stopTimeout,
	"pinion task stop --t": stopTimeout, "pinion task stop --time": stopTimeout, "pinion task stop --timeout": stopTimeout,
}

const stopTimeout = "a task has its time to end from `pinion run --stop-timeout`; --force ends it at once"

const interactive = "interactive sessions are not supported yet"

// unknown is the error for a flag that the command has not.
func (r *reader) unknown(word string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	hint := foreign[name]
	if takes, known := ofCommand[r.name+" --"+name]; known {
		hint = takes
	}
	if near := words.Nearest(name, r.names()); near != "" {
		hint = "did you mean --" + near + "?"
	}
	if hint == "" {
		return exit.Usagef("%s has no option %s; see %s --help", r.name, word, r.name)
	}
	return exit.Usagef("%s has no option %s: %s", r.name, word, hint)
}

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
