package guard

import (
	"go/ast"
	"slices"
	"testing"
)

// pure packages compute and nothing else: no clock, chance, goroutine, network or log line. A name covers the packages below it. A package may
// be listed before it exists.
var pure = []string{
	"raftfsm",
	"server/schedule",
	"api/cli/upgrade/rolling", "api/ecs/types", "api/ecs/taskdef", "api/ecs/view", "api/ecs/arn", "api/ecs/tags", "api/ecs/field",
}

// impure packages are below pure ones and are not.
var impure = map[string]string{
	"raftfsm/logdriver":      "net splits and joins host and port",
	"server/schedule/replay": "math/rand with a seed draws the workload of a trace, as the paper whose results it repeats",
}

var (
	impureImports = []string{"math/rand", "math/rand/v2", "crypto/rand", "net", "net/http", "log", "log/slog", "os/exec"}
	clockNames    = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"}
)

func TestPurePackagesHaveNoClockChanceOrGoroutine(t *testing.T) {
	eachFile(t, func(f file) {
		if f.isTest() || longest(f.pkg, pure...) == "" || impure[f.pkg] != "" {
			return
		}
		_, others := f.imports()
		for _, imported := range others {
			if slices.Contains(impureImports, imported) {
				t.Errorf("%s imports %s", f.path, imported)
			}
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", f.at(n))
			case *ast.SelectorExpr:
				if isSelector(n, "time", clockNames...) {
					t.Errorf("%s uses time.%s", f.at(n), n.Sel.Name)
				}
			}
			return true
		})
	})
}
