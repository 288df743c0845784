package guard

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// logKey is one word, as of a field of JSON: what reads logs selects by it.
var logKey = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)

// vagueKeys do not say what their value is: prepositions, adverbs, forms of verbs, an id of nothing. A host is "host" by its name and "hostId" by its id.
var vagueKeys = []string{"of", "do", "found", "was", "here", "at", "atMost", "heard", "last", "other", "id", "before", "has", "wanted", "answered"}

// TestLogKeysAreOneSet: an error has one key in every log line, and every key is one word that says what its value is.
func TestLogKeysAreOneSet(t *testing.T) {
	eachFile(t, func(f file) {
		if f.isTest() {
			return
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isLogCall(call) {
				return true
			}
			for i := 1; i < len(call.Args); i += 2 {
				key, ok := stringLiteral(call.Args[i])
				if !ok {
					break // attributes, or keys that another place wrote
				}
				if key == "err" || !logKey.MatchString(key) {
					t.Errorf("%s: the log key %q: an error is \"error\", and a key one word such as \"exitCode\"", f.at(n), key)
				}
				if slices.Contains(vagueKeys, key) {
					t.Errorf("%s: the log key %q does not say what its value is: name that, such as \"mountpoint\", \"previous\" or \"client\"", f.at(n), key)
				}
			}
			return true
		})
	})
}

// isLogCall reports whether a call is one of slog's with a message and pairs.
func isLogCall(call *ast.CallExpr) bool {
	of, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 3 || isSelector(of, "http", "Error") {
		return false
	}
	switch of.Sel.Name {
	case "Debug", "Info", "Warn", "Error":
		return true
	}
	return false
}

func stringLiteral(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
