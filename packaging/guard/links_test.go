package guard

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var markdownLink = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// TestLinksOfTheDocumentationExist follows the relative links of README.md, CHANGELOG.md, docs/ and every DESIGN.md, and
// holds that each page of docs/ can be reached from docs/README.md, and that from README.md.
func TestLinksOfTheDocumentationExist(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages in docs: %v", len(pages), err)
	}
	linking := append(slices.Clone(pages), "../../README.md", "../../CHANGELOG.md")
	for _, design := range designPages(t) {
		linking = append(linking, filepath.Join("../..", design))
	}
	for _, page := range linking {
		for _, link := range linksOf(t, page) {
			if _, err := os.Stat(link); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, link)
			}
		}
	}
	const index = "../../docs/README.md"
	if !slices.Contains(linksOf(t, "../../README.md"), index) {
		t.Errorf("README.md has no link to %s", index)
	}
	indexed := linksOf(t, index)
	for _, page := range pages {
		if page != index && !slices.Contains(indexed, page) {
			t.Errorf("%s has no link to %s", index, page)
		}
	}
}

// linksOf lists the files that a page links to.
func linksOf(t *testing.T, page string) []string {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, link := range markdownLink.FindAllStringSubmatch(string(raw), -1) {
		if !strings.Contains(link[1], "://") {
			files = append(files, filepath.Join(filepath.Dir(page), link[1]))
		}
	}
	return files
}

// TestSymbolicLinksLeadSomewhere finds the files that were meant when others were moved.
func TestSymbolicLinksLeadSomewhere(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Type()&os.ModeSymlink == 0 {
			return err
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s leads nowhere: %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
