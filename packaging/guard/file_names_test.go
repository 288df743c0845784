package guard

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documented are the modules whose exported names and comments are, beside the exported names of Go's library, the terms of art that a file may be
// called by.
var documented = []string{
	"github.com/hashicorp/raft", "github.com/containerd/containerd/v2", "github.com/containerd/containerd/api", "github.com/opencontainers/runtime-spec",
	"github.com/opencontainers/image-spec", "github.com/containernetworking/cni", "github.com/NVIDIA/go-nvml", "github.com/aws/aws-sdk-go-v2/service/ecs",
	"github.com/prometheus/client_golang",
}

// othersTerms are terms that are documented elsewhere.
var othersTerms = map[string]string{
	"arp": "RFC 826", "autopilot": "HashiCorp raft-autopilot", "bom": "CycloneDX", "cbor": "RFC 8949", "cron": "crontab(5)", "daily": "cron's @daily", "demo": "`pinion demo`", "doctor": "`brew doctor`, `flutter doctor`", "feasible": "Nomad's scheduler",
	"fgd": "fragmentation gradient descent, USENIX ATC 2023", "idp": "OpenID Connect", "inventory": "Ansible", "ips": "IP addresses", "journal": "ext4, SQLite", "latch": "java.util.concurrent",
	"ledger": "accounting", "licences": "SPDX", "nocgo": "Go's build constraints", "oidc": "OpenID Connect", "prewarm": "AWS Lambda, Elasticsearch",
	"renew": "RFC 8555", "salvage": "Berkeley DB", "sdnotify": "sd_notify(3)", "smi": "nvidia-smi", "suspect": "a health of ECS's accelerated compute", "testbed": "networking research", "tier": "Parameter Store",
	"tournament": "Knuth, volume 3", "unschedulable": "Kubernetes", "watchdog": "systemd",
}

// TestFilesAreCalledByTermsOfTheField holds each word of a file's name to the first column of the glossary, to the names that Go's library exports, and
// to the documentation of Raft, containerd, OCI, CNI, NVML, ECS and Prometheus, in one form or another.
func TestFilesAreCalledByTermsOfTheField(t *testing.T) {
	known, used := fieldTerms(t), map[string]bool{}
	eachFile(t, func(f file) {
		if f.isTest() {
			return
		}
		for _, word := range identifierWords(strings.TrimSuffix(path.Base(f.path), ".go")) {
			if _, elsewhere := othersTerms[word]; elsewhere {
				used[word] = true
			} else if !known.knows(word) {
				t.Errorf("%s: neither docs/glossary.md nor the documentation of Go, Raft, containerd or ECS knows %q: call the file by a term that they have, or name the source in othersTerms", f.path, word)
			}
		}
	})
	for word := range othersTerms {
		if !used[word] {
			t.Errorf("no file is called by %q any more: take it off othersTerms", word)
		}
	}
}

// terms are words by their stems.
type terms map[string]bool

// knows reports whether the word, or each of two words that it joins as names of packages do, is a term.
func (k terms) knows(word string) bool {
	if k[stem(word)] {
		return true
	}
	for at := 3; at <= len(word)-3; at++ {
		if k[stem(word[:at])] && k[stem(word[at:])] {
			return true
		}
	}
	return false
}

// stem is a word without the ending that makes another form of it.
func stem(word string) string {
	for _, ending := range []string{"ations", "ation", "ings", "ing", "ers", "er", "ors", "or", "ies", "es", "ed", "s", "al", "e", "y"} {
		if base, is := strings.CutSuffix(word, ending); is && len(base) >= 3 {
			return base
		}
	}
	return word
}

// fieldTerms are the terms of the glossary and those of others' documentation.
func fieldTerms(t *testing.T) terms {
	t.Helper()
	known := terms{}
	glossary, err := os.ReadFile(glossaryFile)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(glossary), "\n## Retired words")
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 1 {
			for _, word := range strings.FieldsFunc(strings.ToLower(cells[1]), func(r rune) bool { return r < 'a' || r > 'z' }) {
				known[stem(word)] = true
			}
		}
	}
	known.read(t, filepath.Join(run(t, "go", "env", "GOROOT"), "src"), exportedName)
	for _, module := range documented {
		known.read(t, run(t, "go", "list", "-m", "-f", "{{.Dir}}", module), exportedName, commentLine)
	}
	return known
}

func run(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.Command(command[0], command[1:]...).Output()
	if text := strings.TrimSpace(string(out)); err == nil && text != "" {
		return text
	}
	t.Fatalf("%q: %v %s", command, err, out)
	return ""
}

var (
	// exportedName is a name that a line of Go code declares for others, a field included.
	exportedName = regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |var |const |\t)([A-Z][A-Za-z0-9]*)`)
	// commentLine is a line of a comment.
	commentLine     = regexp.MustCompile(`(?m)^\t?// (.*)$`)
	otherThanLetter = regexp.MustCompile(`[^A-Za-z]+`)
)

// read adds the words of the names of packages, and of what the patterns find in their files.
func (k terms) read(t *testing.T, root string, patterns ...*regexp.Regexp) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"testdata", "vendor", "internal", "cmd"}, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir():
			k[stem(entry.Name())] = true
			return nil
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, pattern := range patterns {
			for _, found := range pattern.FindAllSubmatch(text, -1) {
				for _, name := range otherThanLetter.Split(string(found[1]), -1) {
					for _, word := range identifierWords(name) {
						k[stem(word)] = true
					}
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
