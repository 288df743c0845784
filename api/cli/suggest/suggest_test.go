package suggest

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var commands = []string{"run", "ps", "logs", "stop", "why", "queue", "inspect", "hosts", "drain", "activate", "up", "down", "leave", "recover", "env", "token"}

func TestAMistypedCommandIsFound(t *testing.T) {
	for word, want := range map[string]string{"hots": "hosts", "qeueu": "queue", "lgos": "logs", "insepct": "inspect", "drian": "drain", "p": "", "x": "", "stp": "", "donw": "", "pss": "ps", "sim": "", "frobnicate": ""} {
		if got := Nearest(word, commands); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// Who follows a hint must not end tasks by it.
func TestNoHintEndsTasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dangerous := rapid.SampledFrom(neverSuggested).Draw(t, "command")
		at := rapid.IntRange(0, len(dangerous)-1).Draw(t, "letter")
		word := dangerous[:at] + rapid.StringMatching(`[a-z]{0,2}`).Draw(t, "instead") + dangerous[at+1:]
		if near := Nearest(word, commands); slices.Contains(neverSuggested, near) {
			t.Fatalf("%s: did you mean %s?", word, near)
		}
	})
}

func TestDistancesAreThoseOfASpellChecker(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"ps", "ps", 0}, {"", "up", 2}, {"lgos", "logs", 1}, {"hots", "hosts", 1}, {"join", "down", 2}, {"pull", "up", 3}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want || distance(c.b, c.a) != c.want {
			t.Errorf("%s, %s: %d and %d, want %d", c.a, c.b, got, distance(c.b, c.a), c.want)
		}
	}
}

func TestWordsOfOtherToolsAreAnsweredWithOurs(t *testing.T) {
	for _, word := range []string{"sh", "join", "status", "describe", "sbatch", "squeue", "sacct", "sinfo", "scancel", "kubectl", "get", "container", "system", "diff", "tag"} {
		if hint := Hint(word, commands); hint == "" || strings.Contains(hint, "Did you mean") {
			t.Errorf("%s: %q", word, hint)
		}
	}
	for word, hint := range otherTools {
		if strings.HasSuffix(hint, ".") || hint == "" {
			t.Errorf("%s: %q is to end without a full stop: it is put into a sentence", word, hint)
		}
	}
}

// What Slurm's verbs are called stands in the hint, as it is typed.
func TestVerbsOfSlurmAreAnsweredWithOurs(t *testing.T) {
	for word, ours := range map[string]string{
		"hold": "pinion task hold", "release": "pinion task release", "resume": "pinion task release", "requeue": "pinion task requeue", "undrain": "pinion host activate",
		"sreport": "pinion usage --since 7d --by team", "sacct": "pinion ps --since 1d --state failed", "scontrol": "pinion task hold",
	} {
		if hint := Hint(word, commands); !strings.Contains(hint, "`"+ours) {
			t.Errorf("%s: %q", word, hint)
		}
	}
}
