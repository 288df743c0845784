package wire

import (
	"strings"
	"testing"
)

func TestYAMLIsOneDocument(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		one  bool
	}{
		"plain":                    {"family: x\n", true},
		"with its start marked":    {"---\nfamily: x\n", true},
		"after a comment":          {"# mine\n---\nfamily: x\n", true},
		"two":                      {"family: x\n---\nfamily: z\n", false},
		"two, both marked":         {"---\nfamily: x\n---\nfamily: z\n", false},
		"dashes in a block string": {"family: x\ncommand: |\n  ---\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseYAML([]byte(c.body))
			if c.one && err != nil {
				t.Error(err)
			}
			if !c.one && (err == nil || !strings.Contains(err.Error(), "more than one document")) {
				t.Errorf("got %v", err)
			}
		})
	}
}
