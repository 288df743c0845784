package api

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pinion/api/ecs"
	"pinion/api/httpx"
	"pinion/api/rest"
)

// The page of operations is made from the tables; `go test ./api -run Page -rewrite` writes it anew.
func TestThePageOfOperationsIsWhatTheTablesSay(t *testing.T) {
	const path = "../docs/operations.md"
	page := operationsPage()
	if *rewrite {
		if err := os.WriteFile(path, page, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, page) {
		t.Errorf("%s is not what the tables say (go test ./api -run Page -rewrite writes it anew); it would be\n%s", path, page)
	}
}

// allRoutes is every line of the tables of routes.
func allRoutes() []rest.Route {
	routes := newRoutes(Config{Shared: NewShared()}, &httpx.Peers{}, &operationEndpoints{})
	return routes.all()
}

func operationsPage() []byte {
	var page bytes.Buffer
	page.WriteString(`# Operations

Made from the tables that Pinion serves from; a test keeps it true. ` + "`GET /v1/openapi.json`" + ` on a host has the same with every field.

The role is the least that an access key needs (` + "`pinion keys create --role ROLE`" + `): *read* looks; *submit* also runs and stops tasks and
registers what they are made of; *admin* may do everything. A key that was made with ` + "`--cluster NAME`" + ` may name that cluster alone, and
the task definitions of its families or shared with it. Root's socket on a host needs no key.

## Amazon ECS

Through ` + "`POST /`" + ` with ` + "`X-Amz-Target`" + `, as AWS's clients do it, and through ` + "`POST /v1/OPERATION`" + ` with JSON or YAML. What changes something is
done by the leader; the rest is answered from a state that has every change acknowledged before.

| operation | role | changes something |
| --- | --- | --- |
`)
	for _, o := range sortedOperations() {
		fmt.Fprintf(&page, "| %s | %s | %s |\n", o.Name, o.Role, map[bool]string{true: "yes", false: ""}[o.Writes])
	}
	page.WriteString("\n## Beside them\n\n| request | role | what |\n| --- | --- | --- |\n")
	for _, line := range allRoutes() {
		role := string(line.Role)
		if role == "" {
			role = "everyone"
		}
		about := line.Summary
		for _, p := range line.Query {
			about += fmt.Sprintf("; `?%s=`: %s", p.Name, p.Summary)
		}
		fmt.Fprintf(&page, "| `%s %s` | %s | %s |\n", line.Method, line.Path, role, about)
	}
	page.WriteString("\n## Known and refused\n\nEach answers with an error of its own model that says why.\n\n| why | operations |\n| --- | --- |\n")
	byReason := map[string][]string{}
	for name, why := range ecs.UnsupportedReasons() {
		byReason[why] = append(byReason[why], name)
	}
	for _, why := range slices.Sorted(maps.Keys(byReason)) {
		fmt.Fprintf(&page, "| %s | %s |\n", why, strings.Join(slices.Sorted(slices.Values(byReason[why])), ", "))
	}
	return page.Bytes()
}

// The page that shows how to add an operation quotes a test, which is that operation.
func TestThePageOnAddingAnOperationQuotesOneThatWorks(t *testing.T) {
	page, err := os.ReadFile("../docs/adding-an-operation.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("ecs/adding_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, quoted := range strings.Split(string(page), "```go\n")[1:] {
		quoted, _, _ = strings.Cut(quoted, "```")
		if !strings.Contains(unindented(string(code)), unindented(quoted)) {
			t.Errorf("this is not in ecs/adding_test.go:\n%s", quoted)
		}
	}
}

// unindented is code without the white space at the beginnings of its lines.
func unindented(code string) string {
	var lines []string
	for line := range strings.Lines(code) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
