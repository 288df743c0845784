package cli

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/suggest"
)

func TestWrongCommandLinesSayWhatToDo(t *testing.T) {
	cases := map[string]struct {
		line string
		code int
		says string
	}{
		"a misspelt command":              {"hots", 2, `there is no command "hots". Did you mean "host"?`},
		"an unknown flag":                 {"ps --al", 2, "pinion ps has no option --al: did you mean --all?"},
		"another tool's flag":             {"shell -it img", 2, "pinion shell has no option -it: `pinion shell` always"},
		"a flag without its value":        {"ps --cluster", 2, "--cluster needs a value"},
		"a time without a unit":           {"token --ttl 5", 2, `--ttl takes a time such as 90s, 30m, 12h or 2d, not "5"`},
		"a flag behind the image":         {"run pinion/self --gpus 2", 2, "put -- before the container's command"},
		"an argument too few":             {"stop", 2, "pinion stop needs a TASK or --group NAME, one of the two"},
		"a task and a group":              {"why --group nightly 3f2a", 2, "pinion why needs a TASK or --group NAME, one of the two"},
		"an argument too many":            {"ps 3f2a", 2, `pinion ps takes no argument, but got "3f2a"`},
		"two hosts to drain":              {"drain gpu-1 gpu-2", 2, "pinion drain takes one host at a time"},
		"a subcommand nobody knows":       {"snapshot send x", 2, `pinion snapshot has no "send"`},
		"no subcommand":                   {"snapshot", 2, "pinion snapshot needs an argument: pinion snapshot save|restore|inspect FILE"},
		"a subcommand without its host":   {"hosts rm", 2, "pinion host rm needs an argument: pinion host rm HOST"},
		"a token for whom":                {"token --role king", 2, `--role "king": the role of a token is host or agent`},
		"no file":                         {"register", 2, "pinion register needs -f FILE"},
		"an output nobody knows":          {"ps -o xml", 2, `-o "xml" is not one of table, wide, json`},
		"no image before --":              {"run -- --", 2, "needs an image"},
		"half a GPU":                      {"run --gpus 1.5 img", 2, `--gpus takes a whole number, not "1.5"`},
		"minus one GPU":                   {"run --gpus -1 img", 2, "--gpus -1: must be 0 or more"},
		"whole GPUs and a share":          {"run --gpus 1 --gpu-memory 10g img", 2, "--gpu-memory is in place of --gpus"},
		"threads without a share":         {"run --gpu-compute 30 img", 2, "--gpu-compute goes with --gpu-memory"},
		"no threads of a GPU":             {"run --gpu-memory 10g --gpu-compute 0 img", 2, "--gpu-compute 0: must be 1 to 100"},
		"a share of no size":              {"run --gpu-memory much img", 2, "--gpu-memory"},
		"many GPUs":                       {"run --gpus many img", 2, `--gpus takes a whole number, not "many"`},
		"memory in bananas":               {"run --memory 3bananas img", 2, `--memory "3bananas" is not an amount of memory such as 2g`},
		"no cores":                        {"run --cpus 0 img", 2, "--cpus 0: must be more than 0 cores"},
		"a relative volume":               {"run --volume ./data:/data img", 2, "absolute path"},
		"a variable that is not set here": {"run --env PINION_TEST_UNSET img", 2, "--env PINION_TEST_UNSET: the variable is not set here"},
		"a log since when":                {"logs --since soon 3f2a", 2, `--since "soon": write an age such as 10m`},
		"a shell nobody speaks":           {"completion tcsh", 2, "bash, fish, zsh"},
		"no host here":                    {"ps", 1, "no host runs here: there is no DIR/pinion.sock. Start one with `sudo pinion up`"},
		"a network host without a key":    {"--host gpu1:7400 --key-id= --secret= ps", 1, "needs an access key"},
		"a network host that is none":     {"ps --host ftp://gpu1", 2, `host "ftp://gpu1" is not HOST[:PORT]`},
		"two hosts":                       {"ps --host gpu1 --context lab", 2, "both name a host"},
		"a context that is not there":     {"ps --context lab", 1, `there is no context "lab"`},
		"a CA that is not there":          {"--host gpu1:7400 --key-id k --secret s --ca /nowhere.pem ps", 1, "/nowhere.pem"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := pinion(t, nil, strings.Fields(c.line)...)
			if got.code != c.code || !strings.Contains(got.err, c.says) {
				t.Errorf("pinion %s\n got %d %q\nwant %d %q", c.line, got.code, got.err, c.code, c.says)
			}
			if strings.Count(got.err, "\n") > 1 {
				t.Errorf("pinion %s: an error is one line, got %q", c.line, got.err)
			}
		})
	}
}

func TestHelpHasExamplesForEveryCommand(t *testing.T) {
	for _, command := range New(fullProgram).Commands {
		checkHelp(t, command, command.Name)
	}
	if got := pinion(t, nil); got.code != 0 || !strings.Contains(got.out, "\nTasks:\n") || !strings.Contains(got.out, "are a pool") {
		t.Errorf("pinion alone shows the help, got %+v", got)
	}
}

// fullProgram can do everything that a program may be able to do.
var fullProgram = Program{
	Restore:         func(context.Context, OfflineHost, string) error { return nil },
	InspectSnapshot: func(io.Writer, string, bool) error { return nil },
	Simulate:        func(context.Context, SimConfig, func(done, total int)) ([]SimRun, error) { return nil, nil },
	Upgrade:         &fakeUpgrades{}, Recover: func(context.Context, OfflineHost) error { return nil },
}

func checkHelp(t *testing.T, command *cli.Command, name string) {
	for _, below := range command.Subcommands {
		checkHelp(t, below, name+" "+below.Name)
	}
	if !command.Hidden && !strings.Contains(command.Description, "Examples:\n   ") {
		t.Errorf("pinion %s --help has no examples", name)
	}
	got := pinionWith(t, fullProgram, nil, append(strings.Fields(name), "--help")...)
	if got.code != 0 || !strings.Contains(got.out, "pinion "+name) || got.err != "" {
		t.Errorf("pinion %s --help: %+v", name, got)
	}
	for line := range strings.Lines(got.out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("pinion %s --help: %d columns: %s", name, n, line)
		}
	}
}

func TestGlobalFlagsStandBeforeTheCommandOrAfterIt(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/version"] = serveDocument(map[string]string{"version": "0.1.0"})
	t.Setenv("PINION_DATA_DIR", "/nowhere")
	for _, line := range []string{"-o json version", "version -o json", "-o table version -o json"} {
		got := pinion(t, h, strings.Fields(line)...)
		checkEqual(t, line, got.out, "{\n  \"client\": \"0.1.0\",\n  \"host\": \"0.1.0\"\n}\n")
	}
	if got := pinion(t, h, "version", "--data-dir", "/nowhere/at/all"); !strings.Contains(got.err, "no host answers") {
		t.Errorf("the flag behind the command wins, got %+v", got)
	}
}

// A hint may only name commands that there are, and what is a command needs no hint.
func TestHintsNameCommandsThatExist(t *testing.T) {
	app := New(fullProgram)
	for word, hint := range suggest.OtherTools() {
		if app.Command(word) != nil {
			t.Errorf("pinion %s is a command: its hint is never shown", word)
		}
		for _, named := range regexp.MustCompile("`(?:sudo )?pinion ([a-z-]+)(?: ([a-z]+))?").FindAllStringSubmatch(hint, -1) {
			command := app.Command(named[1])
			if command == nil || len(command.Subcommands) > 0 && named[2] != "" && command.Command(named[2]) == nil {
				t.Errorf("%s: there is no `pinion %s %s`", word, named[1], named[2])
			}
		}
	}
}
