package guard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// ownClocks are the files of server that read the clock of the machine, each with the reason. Whatever else decides by time takes the clock that
// it is given, so that a test moves it, and the loops of a server agree on what time it is.
var ownClocks = map[string]string{
	"server/member.go":                         "the clock that everything below is given, unless it is configured",
	"server/consensus/node.go":                 "the same, of a node alone",
	"server/recovery/recovery.go":              "the same, of a host that is recovered",
	"server/pki/identity.go":                   "the same, of certificates",
	"server/peer/client.go":                    "the same, of a host that joins",
	"server/peer/limit.go":                     "how often a line is logged",
	"server/consensus/raft.go":                 "how often a line of Raft is logged",
	"server/consensus/leaderless.go":           "how long there is no leader, for the log",
	"server/consensus/quiescence.go":           "it holds back messages of Raft, whose timers are the machine's",
	"server/consensus/dir_lock.go":             "how long it waits for another process to end",
	"server/liveness/host_loss.go":             "that this process was stopped is seen by the machine's clock alone",
	"server/exporter/pool.go":                  "how long counting takes decides how often it is done",
	"server/orchestrator/scheduled_actions.go": "how long one pass may compute",
	"server/id/id.go":                          "ids grow with time",
}

func TestServersDecideByTheClockThatTheyAreGiven(t *testing.T) {
	found := violations{}
	eachFile(t, func(f file) {
		if !within("server", f.pkg) || f.isTest() {
			return
		}
		for _, use := range clockReads(f.File) {
			found[f.path] = f.at(use) + " uses time.Now: take the clock of the part that it belongs to, or list the file in clocks_test.go with a reason"
		}
	})
	found.check(t, slices.Collect(maps.Keys(ownClocks))...)
}

// A clock that is read is found, and what measures a duration or sets a deadline of a connection is none.
func TestAClockThatIsReadIsFound(t *testing.T) {
	for code, reads := range map[string]int{
		"now := time.Now(); if now.After(end) { return }":               1,
		"for end := time.Now().Add(patience); ; { }":                    1,
		"clock := time.Now; clock()":                                    1,
		"begun := time.Now(); work(); observe(time.Since(begun))":       0,
		"done, begun := make(chan bool), time.Now(); time.Since(begun)": 0,
		"begun := time.Now(); time.Since(begun); record(begun)":         1,
		"conn.SetReadDeadline(time.Now().Add(timeout))":                 0,
		"timer.Reset(time.Now().Sub(begun))":                            1,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\nfunc f() {\n"+code+"\n}", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(clockReads(tree)); got != reads {
			t.Errorf("%s: %d reads of the clock, want %d", code, got, reads)
		}
	}
}

// clockReads are the uses of time.Now in a file, but for those that measure a duration, or that are the deadline of a connection: Go's network compares
// it with the machine's clock.
func clockReads(f *ast.File) (reads []*ast.SelectorExpr) {
	for _, d := range f.Decls {
		harmless := map[ast.Node]bool{}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if method, ok := n.Fun.(*ast.SelectorExpr); ok && strings.HasSuffix(method.Sel.Name, "Deadline") {
					for _, argument := range n.Args {
						eachClock(argument, func(use *ast.SelectorExpr) { harmless[use] = true })
					}
				}
			case *ast.AssignStmt:
				for i, value := range n.Rhs {
					call, isCall := value.(*ast.CallExpr)
					if name, ok := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); ok && isCall && onlyMeasures(d, name) {
						harmless[call.Fun] = true
					}
				}
			}
			return true
		})
		eachClock(d, func(use *ast.SelectorExpr) {
			if !harmless[use] {
				reads = append(reads, use)
			}
		})
	}
	return reads
}

func eachClock(in ast.Node, visit func(*ast.SelectorExpr)) {
	ast.Inspect(in, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && isSelector(s, "time", "Now") {
			visit(s)
		}
		return true
	})
}

// onlyMeasures reports whether a variable is used for nothing but time.Since.
func onlyMeasures(in ast.Node, variable *ast.Ident) bool {
	uses := 0
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && isSelector(s, "time", "Since") {
				return false
			}
		case *ast.Ident:
			if n.Name == variable.Name && n != variable {
				uses++
			}
		}
		return true
	})
	return uses == 0
}
