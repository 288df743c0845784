package arguments

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"pgregory.net/rapid"

	"pinion/api/cli/exit"
)

func app() *cli.App {
	flags := func() []cli.Flag {
		return []cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}}, &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}},
			&cli.IntFlag{Name: "tail", Aliases: []string{"n"}}, &cli.StringSliceFlag{Name: "env", Aliases: []string{"e"}}, &cli.DurationFlag{Name: "ttl"},
		}
	}
	return &cli.App{Name: "pinion", Flags: []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}}}, Commands: []*cli.Command{
		{Name: "logs", ArgsUsage: "TASK", Flags: flags()},
		{Name: "run", ArgsUsage: "IMAGE [COMMAND...]", Flags: flags()},
		{Name: "keys", Aliases: []string{"key"}, Subcommands: []*cli.Command{{Name: "rm", ArgsUsage: "ID...", Flags: flags()}}},
	}}
}

func TestFlagsStandBeforeTheArgumentsOrAfterThem(t *testing.T) {
	for line, want := range map[string]string{
		"logs 3f2a -a":                     "logs --all 3f2a",
		"logs 3f2a -n 5 91bc --all":        "logs --tail 5 --all 3f2a 91bc",
		"logs 3f2a --tail=5":               "logs --tail=5 3f2a",
		"logs 3f2a -aq":                    "logs --all --quiet 3f2a",
		"logs -aqn5 3f2a":                  "logs --all --quiet --tail 5 3f2a",
		"logs -- -a":                       "logs -- -a",
		"logs 3f2a -- -a":                  "logs -- 3f2a -a",
		"logs -":                           "logs -",
		"-o json logs 3f2a -a":             "--output json logs --all 3f2a",
		"key --all rm x -n 5 y":            "key rm --all --tail 5 x y",
		"key -n 5 rm x":                    "key rm --tail 5 x",
		"keys":                             "keys",
		"logs --help":                      "logs --help",
		"logs -h 3f2a":                     "logs --help",
		"run -e --help img":                "run --env --help img",
		"run -h h img true":                "run --help",
		"run --all --help img":             "run --help",
		"help keys rm":                     "keys rm --help",
		"help nothing":                     "help nothing",
		"logs --ttl 1d12h 3f2a":            "logs --ttl 36h0m0s 3f2a",
		"run -e A=1 --env B=2 img":         "run --env A=1 --env B=2 img",
		"nothing --at all":                 "nothing --at all",
		"run -eA=1 img ls -la":             "run --env A=1 img ls -la",
		"run img ls --all -n 5":            "run img ls --all -n 5",
		"run img -- --all":                 "run img -- --all",
		"run img --level 3":                "run img --level 3",
		"run -- --":                        "run -- --",
		"run --env A=1 img sh -c -- -a --": "run --env A=1 img sh -c -- -a --",
	} {
		got, err := Order(app(), append([]string{"pinion"}, strings.Fields(line)...))
		if err != nil || strings.Join(got, " ") != "pinion "+want {
			t.Errorf("%s\n got %v, %v\nwant %s", line, got, err, want)
		}
	}
}

func TestWrongFlagsAreErrorsOfUsage(t *testing.T) {
	for line, says := range map[string]string{
		"logs --alll 3f":   "--all",
		"logs -x 3f":       "-x",
		"logs 3f --tail":   "--tail needs a value",
		"logs 3f --ttl 5":  "not \"5\"",
		"logs -nx 3f":      "-n takes",
		"run img --all":    "comes after the image",
		"run --link a img": "published ports",
		"--wrong logs":     "pinion has no option --wrong",
	} {
		_, err := Order(app(), append([]string{"pinion"}, strings.Fields(line)...))
		if coded, is := errors.AsType[*exit.Error](err); !is || coded.ExitCode() != exit.Usage || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", line, err, says)
		}
	}
}

// Whatever a container is to run, it gets every word of it.
func TestTheCommandOfAContainerIsLeftAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"-a", "--all", "--tail", "-n", "5", "--", "-", "x", "--tail=5", "-x", ""})
		command := rapid.SliceOf(word).Draw(t, "command")
		line := append([]string{"pinion", "run", "--all", "img", "sh"}, command...)
		got, err := Order(app(), slices.Clone(line))
		if err != nil || !slices.Equal(got, line) {
			t.Fatalf("%q became %q, %v", line, got, err)
		}
	})
}

// However the words of a line are mixed, each flag keeps its value and the arguments keep their order.
func TestAMixedLineMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var mixed, flags, words []string
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			part := rapid.SampledFrom([][]string{{"-a"}, {"--tail", "5"}, {"-e", "-a"}, {"--env=x"}, {"one"}, {"two"}, {"3"}}).Draw(t, "part")
			mixed = append(mixed, part...)
			if isFlag(part[0]) {
				flags = append(flags, cmp.Or(map[string]string{"-a": "--all", "-e": "--env"}[part[0]], part[0]))
				flags = append(flags, part[1:]...)
			} else {
				words = append(words, part...)
			}
		}
		got, err := Order(app(), append([]string{"pinion", "logs"}, mixed...))
		if want := slices.Concat([]string{"pinion", "logs"}, flags, words); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q became %q, want %q, %v", mixed, got, want, err)
		}
	})
}
