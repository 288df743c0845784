package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

//go:embed assets
var assets embed.FS

var layout = template.Must(template.ParseFS(assets, "assets/page.html"))

// subject is a part of the navigation.
type subject struct {
	Name  string
	Pages []navigationLink
}

// navigationLink is a link of the navigation. Current is set on its own page, with the headings there.
type navigationLink struct {
	Name, Address string
	Current       bool
	Parts         []navigationLink
}

// shown has the values of a page in the layout.
type shown struct {
	Title    string
	Root     string // the way to the root of the site, "../"
	Subjects []subject
	Content  template.HTML
}

// write replaces what an earlier run wrote into a directory; another directory that is not empty it leaves as it is.
func (s *site) write(to string) error {
	if err := empty(to); err != nil {
		return err
	}
	for _, p := range s.sorted() {
		root := strings.Repeat("../", strings.Count(p.name, "/"))
		html, err := p.html(func(l link) string { return s.turn(p, l) })
		if err != nil {
			return err
		}
		view := shown{Title: p.title, Root: root, Subjects: s.navigation(p, root), Content: template.HTML(html)}
		var out bytes.Buffer
		if err := layout.Execute(&out, view); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := put(to, address(p.name), out.Bytes()); err != nil {
			return err
		}
	}
	for name := range s.files {
		text, err := s.root.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		if err := put(to, address(name), text); err != nil {
			return err
		}
	}
	for _, name := range []string{"site.css", "site.js"} {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		if err := put(to, name, text); err != nil {
			return err
		}
	}
	return s.writeSearch(to)
}

// turn is a link to a page or a file of the repository as one of the site.
func (s *site) turn(p *page, l link) string {
	_, anchor, named := strings.Cut(l.to, "#")
	target, err := s.resolve(p, l)
	if err != nil || target == "" {
		return l.to
	}
	turned := strings.Repeat("../", strings.Count(p.name, "/")) + address(target)
	if named {
		turned += "#" + anchor
	}
	return turned
}

// navigation is the list of subjects in docs/README.md, as seen from a page.
func (s *site) navigation(of *page, root string) (all []subject) {
	list := s.pages[index]
	for node := list.tree.FirstChild(); node != nil; node = node.NextSibling() {
		switch n := node.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				all = append(all, subject{Name: list.plain(n)})
			}
		case *ast.List:
			if len(all) == 0 {
				continue
			}
			last := &all[len(all)-1]
			_ = ast.Walk(n, func(item ast.Node, entering bool) (ast.WalkStatus, error) { // no step of it fails
				if a, ok := item.(*ast.Link); ok && entering {
					last.Pages = append(last.Pages, s.navigationLink(list, a, of, root))
				}
				return ast.WalkContinue, nil
			})
		}
	}
	return all
}

func (s *site) navigationLink(list *page, a *ast.Link, of *page, root string) navigationLink {
	var target string
	for _, l := range list.links { // their nodes lose the destination as soon as the page is written
		if l.node == a {
			target, _ = s.resolve(list, l)
		}
	}
	e := navigationLink{Name: list.plain(a), Address: root + address(target), Current: target == of.name}
	if e.Current {
		for _, part := range of.sections {
			if part.level == 2 {
				e.Parts = append(e.Parts, navigationLink{Name: part.heading, Address: "#" + part.id})
			}
		}
	}
	return e
}

// writeSearch writes what the search finds, as a script: a page that was opened as a file may read no other file.
func (s *site) writeSearch(to string) error {
	var found [][]string
	for _, p := range s.sorted() {
		for _, part := range p.sections {
			found = append(found, []string{address(p.name) + "#" + part.id, p.title, part.heading, strings.Join(strings.Fields(part.text), " ")})
		}
	}
	text, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return put(to, "search.js", fmt.Appendf(nil, "pinionDocs.found(%s)\n", text))
}

// mark is a file that each run leaves in its directory.
const mark = "search.js"

// empty removes what an earlier run wrote into a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, mark)); err != nil {
		return fmt.Errorf("%s holds something else than a site of the documentation: name an empty directory, or remove it", dir)
	}
	return os.RemoveAll(dir)
}

// put writes a file of the site.
func put(dir, name string, content []byte) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(path.Dir(name))), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
