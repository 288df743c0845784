package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notRun are the commands of README.md and docs/tour.md that do not run here, and why. All others do, as they stand.
var notRun = map[string]string{
	"sudo make demo":   "builds bin/pinion, which other tests use meanwhile",
	"sudo make test":   "runs this test",
	"make build":       "builds bin/pinion, which other tests use meanwhile",
	"gpu-1# pinion up": "the machine is one host already",
	"gpu-2# ssh root@gpu-1 pinion token | pinion up --join gpu-1 --token-file -": "needs ssh to another machine",
	"gpu-3# ssh root@gpu-1 pinion token | pinion up --join gpu-1 --token-file -": "needs ssh to another machine",
	"pinion init --hosts root@gpu-1,root@gpu-2,root@gpu-3":                       "needs ssh to other machines",
}

// TestTheReadmeRunsAsItStands types the commands of the README and of the tour, top to bottom, on a machine on which nothing is installed.
// What a command is said to print it has to print. Images are stand-ins for those of the same name.
func TestTheReadmeRunsAsItStands(t *testing.T) {
	typeDocuments(t, nil, notRun, "README.md", "docs/tour.md")
}

// TestTheExamplesRunAsTheyStand types the commands of each page of docs/examples, in its directory, on a machine of its own with simulated GPUs.
// The pages mostly wait, for replicas and drains, and run at the same time.
func TestTheExamplesRunAsTheyStand(t *testing.T) {
	first := []step{{command: "install bin/pinion /usr/local/bin/"}, {command: "pinion up --gpus sim:8xh100 &", prints: []string{"Pinion is ready at https://127.0.0.1:7400"}}}
	pages, err := filepath.Glob("../../docs/examples/*/README.md")
	must(t, err)
	for _, page := range append(pages, "../../docs/examples/README.md") {
		file, _ := filepath.Rel("../..", page)
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			typeDocuments(t, first, nil, file)
		})
	}
}

// typeDocuments types the commands of documents into one shell, after others, on a machine of its own. Those of a page of docs/examples are typed in
// its directory.
func typeDocuments(t *testing.T, first []step, without map[string]string, files ...string) {
	const registry = "127.0.0.1:5000"
	environment := []string{"PINION_REGISTRY_CONFIG=" + mirrorOf(t, "http://"+registry, "docker.io", "quay.io")}
	terraformConfig := terraformMirror(t)
	m := startMachine(t, registry, startStandIns(t), append(environment, "TF_CLI_CONFIG_FILE="+terraformConfig, "CHECKPOINT_DISABLE=1")...)
	for _, s := range first {
		m.run(t, s.command, s.isShown)
	}
	ran, left := 0, map[string]bool{}
	for _, file := range files {
		if dir := filepath.Dir(file); strings.HasPrefix(dir, "docs/examples") {
			m.run(t, `cd "$CHECKOUT"/`+dir, func(string) bool { return true })
		}
		for _, s := range readSteps(t, "../../"+file) {
			reason, listed := without[s.command]
			if terraformConfig == "" && strings.HasPrefix(s.command, "terraform ") {
				reason = "terraform or its provider for AWS is not on this machine"
			}
			if reason != "" {
				t.Logf("not run: %s: %s", s.command, reason)
				left[s.command] = listed
				continue
			}
			ran++
			m.run(t, s.command, s.isShown)
		}
	}
	t.Logf("%d commands ran, %d did not", ran, len(left))
	for command := range without {
		if !left[command] {
			t.Errorf("%q is not run, and nobody is told to type it", command)
		}
	}
}

// step is a command of a document, and the lines that it is said to print.
type step struct {
	command string
	prints  []string
}

// readSteps are the commands in the blocks of a document: each line of an sh block, and those behind a prompt of a console block.
func readSteps(t *testing.T, path string) (steps []step) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	for i, block := range strings.Split(string(text), "```") {
		language, body, _ := strings.Cut(block, "\n")
		if i%2 == 0 || language != "sh" && language != "console" {
			continue
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(body), "\\\n", " "), "\n") {
			command, prompted := strings.CutPrefix(line, "# ")
			switch {
			case line == "..." || line == "":
			case language == "sh" || prompted:
				steps = append(steps, step{command: shellComment.ReplaceAllString(command, "")})
			default:
				last := &steps[len(steps)-1]
				last.prints = append(last.prints, line)
			}
		}
	}
	if len(steps) == 0 {
		t.Fatalf("%s has no commands", path)
	}
	return steps
}

var (
	shellComment = regexp.MustCompile(`\s{3,}# .*$`)
	differing    = []struct{ of, as string }{
		{`GPU-[0-9a-f]{8}[0-9a-f-]*`, "GPU-UUID"},
		{`\b[0-9a-f]{12,32}\b`, "ID"},
		{`\b\d+(ms|s|m)\b`, "AGE"},
		{`[ \t]+`, " "},
	}
)

// isShown reports whether the output has the step's lines in their order; ids, times and the width of columns may differ.
func (s step) isShown(output string) bool {
	lines := strings.Split(output, "\n")
	for _, want := range s.prints {
		at := slices.IndexFunc(lines, func(line string) bool { return sameButIDs(line) == sameButIDs(want) })
		if at < 0 {
			return false
		}
		lines = lines[at+1:]
	}
	return true
}

func sameButIDs(line string) string {
	for _, d := range differing {
		line = regexp.MustCompile(d.of).ReplaceAllString(line, d.as)
	}
	return strings.TrimSpace(line)
}

// TestEveryExampleIsUsed holds that each file of docs/examples occurs in the page of its directory, or of one above, in a command or a text that
// says how to use it.
func TestEveryExampleIsUsed(t *testing.T) {
	const root = "../../docs/examples"
	must(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if err != nil || entry.IsDir() || entry.Name() == "README.md" {
			return err
		}
		page := filepath.Join(root, "README.md")
		if top, below, nested := strings.Cut(name, "/"); nested {
			if own := filepath.Join(root, top, "README.md"); exists(own) {
				page, name = own, below
			}
		}
		text, err := os.ReadFile(page)
		if err == nil && !strings.Contains(string(text), name) {
			t.Errorf("%s does not say how to use %s", page, name)
		}
		return err
	}))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fileInDocument finds a file that a command of the documentation reads.
var fileInDocument = regexp.MustCompile(`file://([\w.-]+)|(?:-f|--hosts|--tasks) ([\w.-]+\.\w+)|\s@([\w.-]+\.\w+)`)

// TestEveryFileOfTheDocumentsIsAnExample holds that who types what the documentation says finds the file in docs/examples, and
// that what a page shows of a file is the file.
func TestEveryFileOfTheDocumentsIsAnExample(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	must(t, err)
	var all strings.Builder
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		must(t, err)
		all.Write(text)
		for _, match := range fileInDocument.FindAllStringSubmatch(string(text), -1) {
			name := match[1] + match[2] + match[3]
			if _, err := os.Stat(filepath.Join("../../docs/examples", name)); err != nil {
				t.Errorf("%s: %q names a file that docs/examples does not have", filepath.Base(page), match[0])
			}
		}
	}
	for _, name := range []string{"example-ecs-gpu.json", "certs.d/docker.io/hosts.toml"} {
		text, err := os.ReadFile(filepath.Join("../../docs/examples", name))
		must(t, err)
		if !strings.Contains(all.String(), "\n"+string(text)+"```") {
			t.Errorf("no page shows %s as it is in docs/examples", name)
		}
	}
}
