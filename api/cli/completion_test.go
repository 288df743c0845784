package cli

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/complete"
)

// completed is what a shell is answered for a command line: how it goes on, and the offers without what is said of them.
func completed(t *testing.T, h *fakeHost, shell, line string) (how string, offers []string) {
	t.Helper()
	return completedWith(t, Program{patience: time.Minute}, h, shell, line)
}

func completedWith(t *testing.T, p Program, h *fakeHost, shell, line string) (how string, offers []string) {
	t.Helper()
	got := pinionWith(t, p, h, "__complete", shell, line, " \t\n\"'><=;|&(:")
	if got.code != 0 || got.err != "" {
		t.Errorf("%q: %+v: a shell is told of no error", line, got)
	}
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	for _, line := range lines[1:] {
		offer, _, _ := strings.Cut(line, "\t")
		offers = append(offers, offer)
	}
	return lines[0], offers
}

// completionHost is a pool with something of everything that can be completed.
func completionHost(t *testing.T) *fakeHost {
	t.Helper()
	h := newFakeHost(t)
	task := func(id, family, group, status string) string {
		return `{"taskArn":"arn:aws:ecs:us-east-1:1:task/default/` + id + `","taskDefinitionArn":"x/` + family + `:3","group":"` + group + `","lastStatus":"` + status + `"}`
	}
	h.documents["/v1/tasks?cluster=default"] = serveDocument(`{"tasks":[` + strings.Join([]string{
		task("ab10"+strings.Repeat("0", 28), "run-train", "family:run-train", "RUNNING"), task("ab20"+strings.Repeat("0", 28), "worker", "nightly", "RUNNING"),
		task("ab30"+strings.Repeat("0", 28), "worker", "nightly", "PROVISIONING"), task("ab40"+strings.Repeat("0", 28), "run-over", "family:run-over", "STOPPED"),
	}, ",") + `]}`)
	h.documents["/v1/tasks?cluster=lab"] = serveDocument(`{"tasks":[` + task("cd10"+strings.Repeat("0", 28), "run-lab", "family:run-lab", "RUNNING") + `]}`)
	h.documents["/v1/hosts"] = serveDocument(`[{"id":"aa11","name":"gpu-1","connected":true,"status":"ACTIVE"},{"id":"bb220000000000000000","name":"twin"},{"id":"bb330000000000000000","name":"twin"}]`)
	h.documents["/v1/teams"] = serveDocument(`[{"name":"vision"},{"name":"speech"},{"name":""}]`)
	h.documents["/v1/admin/keys"] = serveDocument(`[{"id":"AKIAONE","role":"read","secretAccessKey":"hidden"}]`)
	h.documents["/v1/admin/tokens"] = serveDocument(`[{"id":"7k2m","cluster":"default"}]`)
	h.documents["/v1/admin/oidc"] = serveDocument(`{"groups":[{"group":"operators","role":"admin"}]}`)
	h.operations["ListClusters"] = always(`{"clusterArns":["arn:aws:ecs:us-east-1:1:cluster/default","arn:aws:ecs:us-east-1:1:cluster/lab"]}`)
	h.operations["ListTaskDefinitionFamilies"] = always(`{"families":["run-train","trainer"]}`)
	h.operations["ListTaskDefinitions"] = always(`{"taskDefinitionArns":["arn:aws:ecs:us-east-1:1:task-definition/trainer:3","arn:aws:ecs:us-east-1:1:task-definition/trainer:2"]}`)
	return h
}

func TestCompletionOffersWhatTheWordMayBecome(t *testing.T) {
	h := completionHost(t)
	for line, want := range map[string]string{
		"pinion que":                         "queue",
		"pinion host dr":                     "drain",
		"pinion ps --al":                     "--all",
		"pinion --data":                      "--data-dir",
		"pinion ps --data":                   "--data-dir",
		"pinion logs ":                       "train worker over nightly",
		"pinion logs train ":                 "worker over nightly",
		"pinion inspect ":                    "train over ab2000000000 ab3000000000",
		"pinion inspect ab1":                 "ab1000000000",
		"pinion stop ":                       "train worker nightly",
		"pinion task hold ":                  "train ab2000000000 ab3000000000",
		"pinion task set-priority ":          "",
		"pinion task set-priority 5 tr":      "train",
		"pinion logs --group ":               "nightly",
		"pinion logs --cluster ":             "default lab",
		"pinion logs --cluster=l":            "--cluster=lab",
		"pinion logs --cluster lab ":         "lab",
		"pinion logs -fn 5 tr":               "train",
		"pinion drain ":                      "gpu-1 bb2200000000 bb3300000000",
		"pinion drain gpu-1 ":                "",
		"pinion team set --quota 4 v":        "vision",
		"pinion key rm ":                     "AKIAONE",
		"pinion ps --key ":                   "AKIAONE",
		"pinion token revoke ":               "7k2m",
		"pinion oidc unmap ":                 "operators",
		"pinion run ":                        "trainer pinion/self",
		"pinion run run":                     "run-train",
		"pinion run trainer:":                "trainer:3 trainer:2",
		"pinion run --after group:":          "group:nightly",
		"pinion definition rm trainer:2 tr":  "trainer",
		"pinion ps --state ":                 "succeeded failed stopped",
		"pinion ps -o ":                      "table wide json",
		"pinion completion ":                 "bash zsh fish",
		"pinion pool set l":                  "lost-after=",
		"pinion ps --filter st":              "status=",
		"pinion host ls --filter status=A":   "status=ACTIVE",
		"pinion host ls --filter status!=A":  "status!=ACTIVE",
		"pinion ps --format {{.H":            "{{.HOST}}",
		"pinion ps --secret ":                "",
		"FOO=1 not /usr/bin/pinion logs tra": "train",
		"pinion logs 'tr":                    "train",
		`pinion logs "$(reboot)" tr`:         "train",
		"pinion what is th":                  "",
		"pinion logs --nothing x tr":         "train",
	} {
		if _, got := completed(t, h, "fish", line); strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	for _, line := range []string{"pinion register -f ", "pinion snapshot save /ba", "pinion run img sh ", "pinion run img -- --gpu", "pinion --ca="} {
		if how, _ := completed(t, h, "bash", line); how != "files" {
			t.Errorf("%q: the shell completes files, not %s", line, how)
		}
	}
}

// What bash inserts is not quoted by it.
func TestOffersAreQuotedForBashAsTheWordIs(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/teams"] = serveDocument(`[{"name":"a $(reboot) 'x' \"y\" ` + "`z`" + ` é"},{"name":"over\nlines"},{"name":"steers\u001b[2J"},{"name":"b!!"}]`)
	h.operations["ListTaskDefinitions"] = always(`{"taskDefinitionArns":["x/trainer:3"]}`)
	for line, want := range map[string]string{
		"pinion team rm a":                 `a\ \$\(reboot\)\ \'x\'\ \"y\"\ ` + "\\`z\\`" + `\ é`,
		`pinion team rm a\ `:               `a\ \$\(reboot\)\ \'x\'\ \"y\"\ ` + "\\`z\\`" + `\ é`,
		`pinion team rm "a $`:              `a \$(reboot) 'x' \"y\" ` + "\\`z\\`" + ` é`,
		"pinion team rm 'a":                `a $(reboot) '\''x'\'' "y" ` + "`z`" + ` é`,
		"pinion team rm b":                 `b\!\!`,
		`pinion team rm "b`:                "",
		"pinion team rm over":              "",
		"pinion team rm steers":            "",
		"pinion run --team=b":              `b\!\!`,
		"pinion run trainer:":              "3",
		"pinion definition show 'trainer:": "trainer:3",
	} {
		if _, got := completed(t, h, "bash", line); strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// A pool that hangs, refuses or is not there keeps no shell, and says nothing.
func TestAPoolThatDoesNotAnswerIsOfferedNothingOf(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/teams"] = func(http.ResponseWriter) any { select {} }
	for _, line := range []string{"pinion team rm ", "pinion logs ", "pinion --host nowhere.invalid:1 --key-id k --secret s team rm ", "pinion --context none team rm ", "pinion --data-dir /nowhere team rm "} {
		if how, got := completedWith(t, Program{}, h, "zsh", line); how != "values" || len(got) > 0 {
			t.Errorf("%q: %s %q", line, how, got)
		}
	}
}

func TestOffersAreBounded(t *testing.T) {
	h := sampleHost(t, 3000)
	if _, got := completed(t, h, "fish", "pinion drain "); len(got) != 200 {
		t.Errorf("%d hosts are offered", len(got))
	}
}

// Each option with a value and each argument is known to the completion, if only as free text.
func TestCompletionKnowsEveryOptionAndArgument(t *testing.T) {
	app := New(fullProgram)
	var walk func(commands []*cli.Command, path []string)
	walk = func(commands []*cli.Command, path []string) {
		for _, c := range commands {
			path := append(slices.Clone(path), c.Name)
			for _, unknown := range complete.Unknown(c, path) {
				t.Errorf("pinion %s: completion does not know %s: say what it takes in api/cli/complete/kinds.go", strings.Join(path, " "), unknown)
			}
			walk(c.Subcommands, path)
		}
	}
	walk(app.Commands, nil)
}
