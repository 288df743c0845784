package listing

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
	"unicode"
	"unicode/utf8"

	"pinion/api/cli/exit"
)

// header is the template with the name of a member in the place of each action: "{{id .taskArn}}\t{{.lastStatus}}" is "TASK ARN\tLAST STATUS".
func header(root *parse.ListNode) string {
	var header strings.Builder
	for _, node := range root.Nodes {
		switch node := node.(type) {
		case *parse.TextNode:
			header.Write(node.Text)
		case *parse.ActionNode:
			if names := fieldsOf(node.Pipe); len(names) > 0 {
				path := names[len(names)-1]
				header.WriteString(words(path[len(path)-1]))
			}
		}
	}
	return header.String()
}

// members are the members of the objects that the template names outside of blocks, in which the dot may be another object.
func members(root *parse.ListNode) (names []string) {
	for _, node := range root.Nodes {
		if action, is := node.(*parse.ActionNode); is {
			for _, path := range fieldsOf(action.Pipe) {
				names = append(names, path[0])
			}
		}
	}
	return names
}

// MembersOf are the members of the JSON of a type, those of embedded types included.
func MembersOf[T any]() []string { return membersOf(reflect.TypeFor[T]()) }

func membersOf(t reflect.Type) (names []string) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous:
			names = append(names, membersOf(field.Type)...)
		case name != "" && name != "-":
			names = append(names, name)
		}
	}
	return names
}

// checkMembers refuses a template that names a member which the objects do not have: neither any of these, nor by their type.
func (t *Template) checkMembers(known []string, documents []json.RawMessage) error {
	unknown := slices.DeleteFunc(slices.Clone(t.members), func(name string) bool {
		first, _ := utf8.DecodeRuneInString(name)
		return unicode.IsUpper(first) || slices.Contains(known, name)
	})
	if len(unknown) == 0 { // the objects need not be read
		return nil
	}
	known = slices.Clone(known)
	for _, document := range documents {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(document, &object); err != nil {
			return err
		}
		for name := range object {
			if !slices.Contains(known, name) {
				known = append(known, name)
			}
		}
	}
	for _, name := range unknown {
		if slices.Contains(known, name) {
			continue
		}
		slices.Sort(known)
		return exit.Usagef("--format: there is no member .%s; there are .%s", name, strings.Join(known, ", ."))
	}
	return nil
}

// fieldsOf are the paths that the arguments of a pipeline name.
func fieldsOf(pipe *parse.PipeNode) (paths [][]string) {
	for _, command := range pipe.Cmds {
		for _, argument := range command.Args {
			switch argument := argument.(type) {
			case *parse.FieldNode:
				paths = append(paths, argument.Ident)
			case *parse.PipeNode:
				paths = append(paths, fieldsOf(argument)...)
			}
		}
	}
	return paths
}

// words is the name of a member as a header: "lastStatus" is "LAST STATUS".
func words(name string) string {
	var header strings.Builder
	before := 'A'
	for _, letter := range name {
		if unicode.IsUpper(letter) && unicode.IsLower(before) {
			header.WriteByte(' ')
		}
		header.WriteRune(unicode.ToUpper(letter))
		before = letter
	}
	return header.String()
}

// makeOptional makes every path of a template one that may end early: {{.a.b}} is the empty text for an object without an a, which Go's
// templates take for an error. It returns the names that begin with a capital.
func makeOptional(node parse.Node) (capitals []string) {
	switch node := node.(type) {
	case *parse.ListNode:
		if node == nil { // a block without an else
			return nil
		}
		for _, child := range node.Nodes {
			capitals = append(capitals, makeOptional(child)...)
		}
	case *parse.ActionNode:
		return makeOptional(node.Pipe)
	case *parse.IfNode:
		return makeBlockOptional(node.BranchNode)
	case *parse.RangeNode:
		return makeBlockOptional(node.BranchNode)
	case *parse.WithNode:
		return makeBlockOptional(node.BranchNode)
	case *parse.PipeNode:
		for _, command := range node.Cmds {
			for i, argument := range command.Args {
				var found []string
				command.Args[i], found = optional(argument)
				capitals = append(capitals, found...)
			}
		}
	}
	return capitals
}

func makeBlockOptional(block parse.BranchNode) []string {
	return slices.Concat(makeOptional(block.Pipe), makeOptional(block.List), makeOptional(block.ElseList))
}

// optional is an argument whose path may end early.
func optional(argument parse.Node) (parse.Node, []string) {
	switch argument := argument.(type) {
	case *parse.FieldNode:
		var capitals []string
		if first, _ := utf8.DecodeRuneInString(argument.Ident[0]); unicode.IsUpper(first) {
			capitals = argument.Ident[:1]
		}
		return memberCall(&parse.DotNode{NodeType: parse.NodeDot, Pos: argument.Pos}, argument.Ident, argument.Pos), capitals
	case *parse.VariableNode:
		if len(argument.Ident) > 1 {
			path := argument.Ident[1:]
			argument.Ident = argument.Ident[:1]
			return memberCall(argument, path, argument.Pos), nil
		}
	case *parse.ChainNode:
		of, capitals := optional(argument.Node)
		return memberCall(of, argument.Field, argument.Pos), capitals
	case *parse.PipeNode:
		return argument, makeOptional(argument)
	}
	return argument, nil
}

// memberCall is the expression (member of "a" "b").
func memberCall(of parse.Node, path []string, at parse.Pos) *parse.PipeNode {
	call := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at, Args: []parse.Node{parse.NewIdentifier("member").SetPos(at), of}}
	for _, name := range path {
		call.Args = append(call.Args, &parse.StringNode{NodeType: parse.NodeString, Pos: at, Quoted: strconv.Quote(name), Text: name})
	}
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: at, Cmds: []*parse.CommandNode{call}}
}

// memberAt is the value at a path; nil where it ends early.
func memberAt(value any, path ...string) (any, error) {
	for _, name := range path {
		switch object := value.(type) {
		case nil:
			return nil, nil
		case map[string]any:
			value = object[name]
		default:
			return nil, fmt.Errorf(".%s: there are no members in a list, a text or a number; {{range}} goes through a list", name)
		}
	}
	return value, nil
}
