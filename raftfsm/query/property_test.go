package query

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestParseUndoesPrint: parse(print(x)) == x for every expression there can be.
func TestParseUndoesPrint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := drawNode(t, 3)
		printed := root.text()
		if len([]rune(printed)) > MaxLength {
			t.Skip()
		}
		e, err := Parse(printed)
		if err != nil {
			t.Fatalf("%s: %v", printed, err)
		}
		if shape(e.root) != shape(root) {
			t.Fatalf("%s\ngot  %s\nwant %s", printed, shape(e.root), shape(root))
		}
		if e.String() != printed {
			t.Fatalf("%s is printed as %s", printed, e)
		}
		if e.Match(rack7()) != (e.Why(rack7()) == "") {
			t.Fatalf("%s: match and why do not agree", printed)
		}
	})
}

func drawNode(t *rapid.T, depth int) node {
	kind := 0
	if depth > 0 {
		kind = rapid.IntRange(0, 3).Draw(t, "kind")
	}
	switch kind {
	case 1:
		return allOf(drawNodes(t, depth-1))
	case 2:
		return anyOf(drawNodes(t, depth-1))
	case 3:
		return not{drawNode(t, depth-1)}
	}
	return drawComparison(t)
}

func drawNodes(t *rapid.T, depth int) []node {
	nodes := make([]node, rapid.IntRange(2, 3).Draw(t, "parts"))
	for i := range nodes {
		nodes[i] = drawNode(t, depth)
	}
	return nodes
}

var (
	anyText  = rapid.StringMatching(`[a-z'" ()\[\],=!<>~&|.*üé\\-]{0,6}`)
	patterns = rapid.StringMatching(`([a-z]|[.]|[a-c]|'| |\\.|"){0,5}`).Filter(func(s string) bool {
		_, err := new(parser).compilePattern(lexeme{text: s})
		return err == nil
	})
	values = map[string]*rapid.Generator[string]{
		"task:group": anyText, "ec2InstanceId": anyText,
		"agentVersion":      rapid.StringMatching(`v?[0-9]{1,3}(\.[0-9]{1,3}){0,3}(-rc[0-9])?`),
		"agentConnected":    rapid.SampledFrom([]string{"true", "false"}),
		"registeredAt":      rapid.StringMatching(`20[0-9]{2}-0[1-9]-[12][0-8](T0[0-9]:[0-5][0-9]:[0-5][0-9](Z|\+0[0-9]:00)?)?`),
		"runningTasksCount": rapid.StringMatching(`-?[0-9]{1,5}`),
	}
)

func drawComparison(t *rapid.T) node {
	name := rapid.SampledFrom([]string{"attribute", "task:group", "agentVersion", "agentConnected", "ec2InstanceId", "registeredAt", "runningTasksCount"}).Draw(t, "subject")
	s, value := attribute, anyText
	c := &comparison{subject: name}
	if name == "attribute" {
		c.subject += ":" + rapid.StringMatching(`[A-Za-z0-9_./\\-]{1,8}`).Draw(t, "name")
	} else {
		s, value = subjects[name], values[name]
	}
	c.operator = rapid.SampledFrom(s.operators).Draw(t, "operator")
	count := 1
	switch c.operator {
	case exists, notExists:
		count = 0
	case in, notIn:
		count = rapid.IntRange(1, 3).Draw(t, "values")
	case matches, notMatches:
		value = patterns
	}
	for range count {
		c.arguments = append(c.arguments, value.Draw(t, "value"))
	}
	return c
}

// shape writes a tree so that two different trees never look the same.
func shape(n node) string {
	parts := func(nodes []node) string {
		var all []string
		for _, part := range nodes {
			all = append(all, shape(part))
		}
		return strings.Join(all, " ")
	}
	switch n := n.(type) {
	case allOf:
		return "(and " + parts(n) + ")"
	case anyOf:
		return "(or " + parts(n) + ")"
	case not:
		return "(not " + shape(n.node) + ")"
	case *comparison:
		return fmt.Sprintf("(%q %d %q)", n.subject, n.operator, n.arguments)
	}
	return "?"
}
