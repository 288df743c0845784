package guard

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// markup is what makes markup or a program of a text, which may be a container's or a user's.
var markup = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function|srcdoc|javascript:|DOMParser|createContextualFragment`)

// foreign is the address of another host in what the page does; a comment may name one.
var foreign = regexp.MustCompile(`(?m)^[^/\n]*["'\x60]https?://`)

// The sources of the web page are short, and make no markup of texts: they are containers' and users' words. They ask no other host.
func TestTheWebPageTakesTextsForTexts(t *testing.T) {
	files, err := filepath.Glob("../../api/web/ui/*")
	if err != nil || len(files) < 10 {
		t.Fatalf("%v %v", files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		if lines := strings.Count(string(text), "\n"); lines > 300 {
			t.Errorf("%s has %d lines, 300 are allowed", name, lines)
		}
		if found := markup.FindString(string(text)); found != "" {
			t.Errorf("%s has %s: a text would be taken for markup", name, found)
		}
		if found := foreign.FindString(string(text)); found != "" && filepath.Ext(name) != ".svg" {
			t.Errorf("%s asks another host: %s", name, found)
		}
	}
}
