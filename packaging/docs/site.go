package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The pages that all others are found from. The lists of index, one below each subject, are the navigation.
const (
	front = "README.md"
	index = "docs/README.md"
)

// site holds the pages, which are all read before any is written.
type site struct {
	root     *os.Root         // of the repository: no link leads out of it
	pages    map[string]*page // by the path in the repository, "docs/install.md"
	files    map[string]bool  // other files that pages link to, which are copied
	problems []error
}

// build reads every page, checks every link, and writes the site. All problems are one error, and then nothing is written.
func build(from, to string) (pages int, err error) {
	root, err := os.OpenRoot(from)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	s := &site{root: root, pages: map[string]*page{}, files: map[string]bool{}}
	if err := s.read(front, index); err != nil {
		return 0, err
	}
	if err := s.checkAllAreReached(); err != nil {
		return 0, err
	}
	for _, p := range s.sorted() {
		s.checkLinks(p)
	}
	if err := errors.Join(s.problems...); err != nil {
		return 0, err
	}
	return len(s.pages), s.write(to)
}

// read reads pages, and those that they link to.
func (s *site) read(names ...string) error {
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if s.pages[name] != nil {
			continue
		}
		text, err := s.root.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return fmt.Errorf("read a page: %w", err)
		}
		p := parse(name, text)
		s.pages[name] = p
		for _, l := range p.links {
			if target, err := s.resolve(p, l); err != nil {
				s.problem(p, l, err)
			} else if strings.HasSuffix(target, ".md") {
				names = append(names, target)
			} else if target != "" {
				s.files[target] = true
			}
		}
	}
	return nil
}

func (s *site) problem(p *page, l link, err error) {
	s.problems = append(s.problems, fmt.Errorf("%s: link to %s: %w", p.name, l.to, err))
}

// resolve finds the page or file in the repository that a link leads to: its path, or "" for another site.
func (s *site) resolve(p *page, l link) (target string, err error) {
	to, _, _ := strings.Cut(l.to, "#")
	switch {
	case strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:"):
		return "", nil
	case to == "":
		return p.name, nil
	case path.IsAbs(to):
		return "", errors.New("a path in the repository is relative to its page")
	}
	target = path.Join(path.Dir(p.name), to)
	info, err := s.root.Stat(filepath.FromSlash(target))
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", errors.New("is a directory: link to a page in it")
	}
	return target, nil
}

// checkAllAreReached holds that no page of docs is left out.
func (s *site) checkAllAreReached() error {
	return fs.WalkDir(s.root.FS(), path.Dir(index), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" && s.pages[name] == nil {
			s.problems = append(s.problems, fmt.Errorf("%s: no page links to it: give it a place in %s", name, index))
		}
		return err
	})
}

// checkLinks holds that the part of a page that a link names is there, and that each page has one title.
func (s *site) checkLinks(p *page) {
	if p.titles != 1 {
		s.problems = append(s.problems, fmt.Errorf("%s has %d headings of the first level, want one", p.name, p.titles))
	}
	if p.refused != "" {
		s.problems = append(s.problems, fmt.Errorf("%s: pages are text, without HTML and images: %s", p.name, p.refused))
	}
	for _, l := range p.links {
		_, anchor, named := strings.Cut(l.to, "#")
		target, err := s.resolve(p, l)
		if !named || err != nil || target == "" {
			continue
		}
		if to := s.pages[target]; to == nil || !slices.ContainsFunc(to.sections, func(part section) bool { return part.id == anchor }) {
			s.problem(p, l, errors.New("has no such heading"))
		}
	}
}

// sorted are the pages by their names.
func (s *site) sorted() (all []*page) {
	for _, p := range s.pages {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *page) int { return strings.Compare(a.name, b.name) })
	return all
}

// address is the address of a page or a file of the repository in the site. A file that is no page is text, which a browser shows by its ending alone.
func address(name string) string {
	if base := strings.TrimSuffix(name, "README.md"); base != name {
		return base + "index.html"
	}
	if base, isPage := strings.CutSuffix(name, ".md"); isPage {
		return base + ".html"
	}
	return name + ".txt"
}
