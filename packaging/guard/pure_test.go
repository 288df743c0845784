package guard

import (
	"go/ast"
	"slices"
	"testing"
)

// pure packages compute and nothing else: no clock, chance, goroutine, network or log line. A package may be listed before
// it exists.
var pure = []string{
	"raftfsm", "raftfsm/spec", "raftfsm/query", "raftfsm/compact", "raftfsm/watch", "raftfsm/sortkey", "raftfsm/issuer", "raftfsm/service", "raftfsm/traffic", "raftfsm/loadbalancer", "raftfsm/routing", "raftfsm/scaling", "raftfsm/taskset", "raftfsm/alarm", "raftfsm/virtualip",
	"server/schedule", "server/schedule/pack", "server/schedule/queue", "server/schedule/batch", "server/schedule/rollout", "server/schedule/tournament",
	"server/schedule/autoscale", "server/schedule/virtualip",
	"api/cli/upgrade/rollout", "api/ecs/types", "api/ecs/taskdef", "api/ecs/view", "api/ecs/arn", "api/ecs/tags", "api/ecs/field",
}

var (
	impureImports = []string{"math/rand", "math/rand/v2", "crypto/rand", "net", "net/http", "log", "log/slog", "os/exec"}
	clockNames    = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"}
)

func TestPurePackagesHaveNoClockChanceOrGoroutine(t *testing.T) {
	eachFile(t, func(f file) {
		if f.isTest() || !slices.Contains(pure, f.pkg) {
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
