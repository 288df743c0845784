package guard

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// foreignMessages are texts of docs/troubleshooting.md that others print: the kernel, clients of AWS.
var foreignMessages = map[string]string{
	"address already in use":    "Linux",
	"SSL validation failed":     "the AWS CLI",
	"CERTIFICATE_VERIFY_FAILED": "Python",
	"unknown authority":         "Go's crypto/x509",
}

var (
	// The first cell of a row of a table.
	firstCell = regexp.MustCompile(`(?m)^\| (.+?) \| `)
	quoted    = regexp.MustCompile("`([^`]+)`")
)

// TestMessagesOfTroubleshootingAreThoseOfTheSources finds each text that docs/troubleshooting.md quotes in a string of the program. What differs from
// one time to another is written as "..." there.
func TestMessagesOfTroubleshootingAreThoseOfTheSources(t *testing.T) {
	var literals strings.Builder
	eachFile(t, func(f file) {
		if f.isTest() {
			return
		}
		ast.Inspect(f.File, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value) // the parser has accepted it
				literals.WriteString(text + "\x00")
			}
			return true
		})
	})
	all, messages := literals.String(), 0
	for _, cell := range firstCell.FindAllStringSubmatch(readPage(t, "troubleshooting.md"), -1) {
		for _, message := range quoted.FindAllStringSubmatch(cell[1], -1) {
			messages++
			if foreignMessages[message[1]] != "" {
				continue
			}
			for part := range strings.SplitSeq(message[1], "...") {
				if !strings.Contains(all, strings.TrimSpace(part)) {
					t.Errorf("docs/troubleshooting.md quotes %q: no string of the program has %q", message[1], strings.TrimSpace(part))
				}
			}
		}
	}
	if messages < 40 {
		t.Errorf("%d messages were read", messages)
	}
}
