package guard

import (
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// word says where a word with one meaning may be declared.
type word struct {
	forms    []string // beside the word itself
	packages []string // where it has its meaning
	phrases  []string // terms of others that it is a part of, wherever they are: pairs of words
	shared   bool     // only names that more than one function can see are looked at
}

// words are those of the glossary's section onlyMeaning, which says what they mean.
var words = map[string]word{
	"entry": {
		forms: []string{"entries"}, shared: true, // a directory has entries: os.ReadDir
		packages: []string{"packaging/bench", "packaging/failpoint", "server/consensus", "server/liveness", "server/orchestrator", "server/scheduler"},
		phrases:  []string{"append entries", "entry point", "rejected entries"},
	},
	"launch": {
		forms:    []string{"launched", "launches"},
		packages: []string{"api", "api/cli/run", "raftfsm", "server/orchestrator", "server/schedule", "server/schedule/batch", "server/scheduler"},
		phrases:  []string{"launch type", "launch types"},
	},
	"look": {forms: []string{"looked", "looking", "looks"}},
	"place": {
		forms: []string{"placed", "places", "placing"},
		packages: []string{"api", "api/cli/invocation", "api/ecs", "packaging/bench", "raftfsm", "raftfsm/service", "raftfsm/spec", "server", "server/dryrun",
			"server/exporter", "server/orchestrator", "server/schedule", "server/schedule/batch", "server/schedule/pack", "server/schedule/queue",
			"server/schedule/repartition", "server/schedule/rollout", "server/scheduler", "server/tracer"},
	},
	"plan": {forms: []string{"plans"}, packages: []string{"server/schedule", "server/scheduler"}},
	"room": {
		forms: []string{"rooms"},
		packages: []string{"api/cli/tasklog/merge", "api/exec", "api/exec/datachannel", "api/rest/images", "node/containerd", "node/containerd/images",
			"node/logs/pinion-logger", "node/proxy", "packaging/doctor", "server/schedule", "server/schedule/pack", "server/schedule/rollout"},
	},
	"round": {
		forms:    []string{"rounds"},
		packages: []string{"server/schedule/queue", "server/scheduler"},
		phrases:  []string{"round robin", "round trip"}, // a proxy's, net/http's
	},
	"settle": {forms: []string{"settled", "settles", "settling"}, packages: []string{"node/distribution", "server/tracker"}},
	"term": {
		forms: []string{"terms"},
		packages: []string{"packaging/bench", "packaging/e2e/many", "packaging/failpoint", "packaging/guard", "packaging/host", "raftfsm", "server",
			"server/consensus", "server/liveness", "server/membership", "server/orchestrator", "server/prefetch", "server/scheduler", "server/tracer"},
	},
	"token": {
		forms: []string{"tokens"}, shared: true, // a function for one kind of token need not name the kind again
		packages: []string{"api/cli/access", "raftfsm/jointoken", "server/admission"},
		phrases: []string{"authentication token", "backward token", "client token", "client tokens", "forward token", "id token", "id tokens", "join token", "join tokens", "next token",
			"security token", "session token", "splunk token"},
	},
}

// recordedNames are fields of entries of the log, which are decoded by them: they stay as they are. So do all fields with a JSON name that
// has the word.
var recordedNames = []string{"node/metadata.Token", "raftfsm.Token", "raftfsm.TokenHash", "raftfsm.TokenID", "raftfsm.TokensBefore", "raftfsm/issuer.TokenHash", "raftfsm/issuer.TokenUntil", "raftfsm/virtualip.Token"}

// TestWordsHaveOneMeaning refuses a word of the table where it means something else: in the names of packages, files, types, functions, methods,
// fields, constants and variables. Test functions have sentences for names, which are not looked at.
func TestWordsHaveOneMeaning(t *testing.T) {
	means, used := glossaryRows(t, onlyMeaning), wordUse{}
	eachFile(t, func(f file) {
		for _, d := range f.names() {
			for name := range words {
				if used.refuses(f.pkg, name, d) && !(f.isTest() && d.isTestFunction()) {
					t.Errorf("%s: %s %s: %q has one meaning, %s. The term for this is another one: see %q in docs/glossary.md. If it is this meaning, add %s to words",
						f.path, d.kind, d.name, name, means[name], onlyMeaning, f.pkg)
				}
			}
		}
	})
	if known := slices.Sorted(maps.Keys(means)); !slices.Equal(known, slices.Sorted(maps.Keys(words))) {
		t.Errorf("the words of %q in docs/glossary.md are %q, those of the table here are others", onlyMeaning, known)
	}
	for name, w := range words {
		for _, where := range slices.Concat(w.packages, w.phrases) {
			if !used[name+" "+where] {
				t.Errorf("nothing is called by the word %q as %s any more: take that off words", name, where)
			}
		}
	}
	for _, name := range recordedNames {
		if !used[name] {
			t.Errorf("nothing recorded is called %s any more: take it off recordedNames", name)
		}
	}
}

const onlyMeaning = "## Words with one meaning"

// wordUse is which packages, phrases and recorded names of the table occur: "WORD PACKAGE", "WORD PHRASE", "PACKAGE.NAME".
type wordUse map[string]bool

// refuses reports whether a name that a package declares uses a word for something else than its meaning.
func (used wordUse) refuses(pkg, name string, d declaration) bool {
	w, parts := words[name], identifierWords(d.name)
	isForm := func(part string) bool { return part == name || slices.Contains(w.forms, part) }
	if !slices.ContainsFunc(parts, isForm) || w.shared && d.kind == localVariable || slices.ContainsFunc(identifierWords(d.json), isForm) {
		return false
	}
	if recorded := pkg + "." + d.name; slices.Contains(recordedNames, recorded) {
		used[recorded] = true
		return false
	}
	refused := false
	for i, part := range parts {
		if !isForm(part) {
			continue
		}
		phrase := ""
		for _, known := range w.phrases {
			if begin := max(0, i-1); strings.Contains(" "+strings.Join(parts[begin:min(i+2, len(parts))], " ")+" ", " "+known+" ") {
				phrase = known
			}
		}
		switch {
		case phrase != "":
			used[name+" "+phrase] = true
		case slices.Contains(w.packages, pkg):
			used[name+" "+pkg] = true
		default:
			refused = true
		}
	}
	return refused
}

func TestAWordIsRefusedWhereItMeansSomethingElse(t *testing.T) {
	for source, want := range map[string][]string{
		"type place struct{ settled bool }":                               {"place", "settled"},
		"func f() { place := 1; _ = place }":                              {"place"},
		"func f(room int) (terms string) { return }":                      {"room", "terms"},
		"func (x t) look() {}; type i interface{ LookUp() }":              {"LookUp", "look"},
		"var launchPlan int; const entryOf = 1":                           {"entryOf", "launchPlan"},
		"func f() { for round := range 3 { _ = round } }":                 {"round"},
		"type s struct{ NextToken, Token string; IDTokens, tokenID int }": {"Token", "tokenID"},
		"type s struct{ Place int `json:\"place\"` }":                     nil,
		"type s struct{ Place int `json:\"position\"` }":                  {"Place"},
		"func f(token string) { entries, err := os.ReadDir(token) }":      nil,
		"func (t) RoundTrip() {}; var roundRobin, placement int":          nil,
		"func TestAPlaceIsFound() {}; func BenchmarkRounds() {}":          nil,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "x_test.go", "package x\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		refused := map[string]bool{}
		for _, d := range (file{File: tree, path: "node/x/x_test.go", pkg: "node/x"}).names() {
			for name := range words {
				if (wordUse{}).refuses("node/x", name, d) && !d.isTestFunction() {
					refused[d.name] = true
				}
			}
		}
		if got := slices.Sorted(maps.Keys(refused)); !slices.Equal(got, want) {
			t.Errorf("%s: refused are %q, want %q", source, got, want)
		}
	}
}
