package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pages are those of a small repository whose site can be made.
func pages() map[string]string {
	return map[string]string{
		"README.md":       "# Front\n[Install](docs/install.md#what-a-host-needs), [licence](LICENSE), [elsewhere](https://example.com/dead)\n",
		"LICENSE":         "free\n",
		"docs/README.md":  "# Documentation\n\n## Start\n- [Install](install.md): how\n",
		"docs/install.md": "# Install\n\n## What a host needs\n`Linux` and [the front](../README.md).\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n",
	}
}

// buildOf builds the site of a repository with these files.
func buildOf(t *testing.T, files map[string]string) (dir string, err error) {
	t.Helper()
	from := t.TempDir()
	for name, text := range files {
		if err := put(from, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(t.TempDir(), "site")
	_, err = build(from, dir)
	return dir, err
}

func TestASiteIsMadeOfThePages(t *testing.T) {
	dir, err := buildOf(t, pages())
	if err != nil {
		t.Fatal(err)
	}
	for file, has := range map[string][]string{
		"index.html":        {`href="docs/install.html#what-a-host-needs"`, `href="LICENSE.txt"`, `href="https://example.com/dead"`},
		"LICENSE.txt":       {"free"},
		"docs/install.html": {`href="../index.html"`, `aria-current="page"`, `id="what-a-host-needs"`, `<div class="wide"`, `href="../site.css"`},
		"search.js":         {`"docs/install.html#what-a-host-needs","Install","What a host needs","Linux and the front. a b 1 2"`},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Error(err)
		}
		for _, part := range has {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %s:\n%s", file, part, text)
			}
		}
	}
}

func TestWhatIsWrongOnAPageIsNamedAndNothingIsWritten(t *testing.T) {
	for name, test := range map[string]struct{ page, text, names string }{
		"a page that is not there":     {"docs/install.md", "# Install\n[x](nowhere.md)\n", "nowhere.md"},
		"a file that is not there":     {"docs/install.md", "# Install\n[x](nowhere.yaml)\n", "nowhere.yaml"},
		"a heading that is not there":  {"README.md", "# Front\n[x](docs/install.md#nothing)\n", "docs/install.md#nothing"},
		"a heading of its own page":    {"README.md", "# Front\n[x](#nothing)\n", "#nothing"},
		"a directory":                  {"README.md", "# Front\n[x](docs)\n", "directory"},
		"a path out of the repository": {"README.md", "# Front\n[x](../../../../../etc/passwd)\n", "etc/passwd"},
		"a path from the root":         {"README.md", "# Front\n[x](/etc/passwd)\n", "/etc/passwd"},
		"a page without a place":       {"docs/left-out.md", "# Left out\n", "docs/left-out.md"},
		"two titles":                   {"README.md", "# Front\n# Again\n", "README.md"},
		"no title":                     {"README.md", "Front\n", "README.md"},
		"HTML":                         {"README.md", "# Front\n<img src=x onerror=alert(1)>\n", "onerror"},
		"HTML in a line":               {"README.md", "# Front\na <b>c</b>\n", "<b>"},
		"an image":                     {"README.md", "# Front\n![x](LICENSE)\n", "LICENSE"},
	} {
		t.Run(name, func(t *testing.T) {
			files := pages()
			files[test.page] = test.text
			dir, err := buildOf(t, files)
			if err == nil || !strings.Contains(err.Error(), test.names) {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("a site was written: %v", err)
			}
		})
	}
}

func TestAnotherDirectoryIsNotEmptied(t *testing.T) {
	dir := t.TempDir()
	if err := put(dir, "thesis.tex", nil); err != nil {
		t.Fatal(err)
	}
	if err := empty(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	if err := put(dir, mark, nil); err != nil {
		t.Fatal(err)
	}
	if err := empty(dir); err != nil {
		t.Error(err)
	}
}

// Headings have the names that code hosts give them, so that links work there and here.
func TestHeadingsAreNamedAsOnCodeHosts(t *testing.T) {
	p := parse("x.md", []byte("# A: b, `--c` & d_e\n## Über\n## Twice\n## Twice\n"))
	var ids []string
	for _, s := range p.sections {
		ids = append(ids, s.id)
	}
	if got := strings.Join(ids, " "); got != "a-b---c--d_e über twice twice-1" {
		t.Errorf("got %s", got)
	}
}
