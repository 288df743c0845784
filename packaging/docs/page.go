package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// page is a file of Markdown.
type page struct {
	name     string // in the repository
	source   []byte
	tree     ast.Node
	title    string
	titles   int // headings of the first level
	links    []link
	sections []section
	refused  string // the first of what a page may not have: HTML that is no comment, an image
}

// link is one of a page, as it is written.
type link struct {
	to   string
	node *ast.Link
}

// section is a heading with the text up to the next one, for the search and the table of contents.
type section struct {
	level       int
	id, heading string
	text        string
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

func parse(name string, source []byte) *page {
	context := parser.NewContext(parser.WithIDs(&headingIDs{taken: map[string]int{}}))
	p := &page{name: name, source: source, tree: markdown.Parser().Parse(text.NewReader(source), parser.WithContext(context))}
	_ = ast.Walk(p.tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // no step of it fails
		if entering {
			p.visit(node)
		} else if node.Type() == ast.TypeBlock && len(p.sections) > 0 {
			p.sections[len(p.sections)-1].text += " "
		}
		return ast.WalkContinue, nil
	})
	return p
}

func (p *page) visit(node ast.Node) {
	switch n := node.(type) {
	case *ast.Link:
		p.links = append(p.links, link{string(n.Destination), n})
	case *ast.Heading:
		id, _ := n.AttributeString("id")
		s := section{level: n.Level, heading: p.plain(n)}
		if name, ok := id.([]byte); ok {
			s.id = string(name)
		}
		if n.Level == 1 {
			p.titles++
			p.title = s.heading
		}
		p.sections = append(p.sections, s)
	case *ast.HTMLBlock, *ast.RawHTML:
		if html := strings.TrimSpace(string(p.raw(node))); p.refused == "" && !strings.HasPrefix(html, "<!--") {
			p.refused = html
		}
	case *ast.Image:
		p.refused = "the image " + string(n.Destination)
	default:
		p.addText(node)
	}
}

// addText adds the words of a node to the last section.
func (p *page) addText(node ast.Node) {
	if len(p.sections) == 0 || node.Parent() != nil && node.Parent().Kind() == ast.KindHeading {
		return
	}
	last := &p.sections[len(p.sections)-1]
	switch n := node.(type) {
	case *ast.Text:
		last.text += string(n.Value(p.source))
		if n.SoftLineBreak() || n.HardLineBreak() {
			last.text += " "
		}
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		last.text += string(n.Lines().Value(p.source))
	}
}

// plain is the text of a node without its markup.
func (p *page) plain(node ast.Node) string {
	var words strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // no step of it fails
		if t, ok := n.(*ast.Text); ok && entering {
			words.Write(t.Value(p.source))
		}
		return ast.WalkContinue, nil
	})
	return words.String()
}

// raw is HTML as it is written.
func (p *page) raw(node ast.Node) []byte {
	if inline, ok := node.(*ast.RawHTML); ok {
		return inline.Segments.Value(p.source)
	}
	return node.Lines().Value(p.source)
}

// html is the page with its links turned to the site's. Wide tables scroll in a box of their own.
func (p *page) html(resolve func(link) string) (string, error) {
	for _, l := range p.links {
		l.node.Destination = []byte(resolve(l))
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, p.source, p.tree); err != nil {
		return "", fmt.Errorf("%s: %w", p.name, err)
	}
	return boxes.Replace(out.String()), nil
}

var boxes = strings.NewReplacer("<table>", `<div class="wide" tabindex="0"><table>`, "</table>", "</table></div>", "<pre>", `<pre tabindex="0">`)

// headingIDs names headings as code hosts do: lower case, dashes for spaces, letters and digits, a number behind one that is taken.
type headingIDs struct{ taken map[string]int }

// Generate implements parser.IDs.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(value)))
	n := h.taken[id]
	h.taken[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (h *headingIDs) Put(value []byte) { h.taken[string(value)]++ }
