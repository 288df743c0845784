package guard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// The guards are tests of other code; these are tests of the guards.

func TestAnImportIsJudgedByItsFloor(t *testing.T) {
	for edge, want := range map[string]string{
		"server/scheduler -> server/schedule/queue": "",
		"server/dispatch -> server/liveness":        "",
		"server -> server/pki":                      "",
		"server/schedule/batch -> server/schedule":  "",
		"server/dispatch -> server/scheduler":       "one floor",
		"server/consensus -> server/dispatch":       "floor above",
		"server/pki -> server":                      "floor above",
		"raftfsm/spec -> raftfsm":                   "floor above",
		"raftfsm -> raftfsm/spec":                   "",
		"api/ecs/view -> api/ecs":                   "floor above",
		"api/ecs -> api/ecs/view":                   "",
		"gpu/nvml -> gpu":                           "",
		"node -> server":                            "only raftfsm/spec raftfsm/blob raftfsm/envfile raftfsm/execcommand raftfsm/filesystem raftfsm/firelens raftfsm/gpufault raftfsm/gpuuse raftfsm/hostport raftfsm/iam raftfsm/iplease raftfsm/isolation raftfsm/label raftfsm/linux raftfsm/logdriver raftfsm/logfilter raftfsm/metric raftfsm/partition raftfsm/rendezvous raftfsm/tasknetwork raftfsm/traffic raftfsm/valuefrom raftfsm/volumeroot raftfsm/lazyregexp gpu",
		"node/logs -> raftfsm":                      "only raftfsm/spec raftfsm/blob raftfsm/envfile raftfsm/execcommand raftfsm/filesystem raftfsm/firelens raftfsm/gpufault raftfsm/gpuuse raftfsm/hostport raftfsm/iam raftfsm/iplease raftfsm/isolation raftfsm/label raftfsm/linux raftfsm/logdriver raftfsm/logfilter raftfsm/metric raftfsm/partition raftfsm/rendezvous raftfsm/tasknetwork raftfsm/traffic raftfsm/valuefrom raftfsm/volumeroot raftfsm/lazyregexp gpu",
		"server -> gpu":                             "",
		"api -> node":                               "only raftfsm gpu",
		"server/unheardof -> server/pki":            "has no floor",
		"packaging/host -> server":                  "",
		"packaging/bundle -> server":                "only packaging",
		"elsewhere -> gpu":                          "no line in besides",
	} {
		from, to, _ := strings.Cut(edge, " -> ")
		got := file{path: from + "/x.go", pkg: from}.wrongImport(to)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", edge, got, want)
		}
	}
}

func TestAWaitIsAllowedWhereTheClockIsSimulated(t *testing.T) {
	const head = "package p\nimport (\"testing\"; \"testing/synctest\"; \"time\")\n"
	for name, c := range map[string]struct {
		source string
		waits  int // outside
	}{
		"in the bubble":              {`func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }`, 0},
		"beside it":                  {`func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) {}); time.Sleep(1) }`, 1},
		"without one":                {`func TestA(t *testing.T) { <-time.After(1) }`, 1},
		"called inside only":         {`func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { wait() }) }; func wait() { time.Sleep(1) }`, 0},
		"called inside and outside":  {`func TestA(t *testing.T) { wait(); synctest.Test(t, func(t *testing.T) { wait() }) }; func wait() { time.Sleep(1) }`, 1},
		"called by what is outside":  {`func TestA(t *testing.T) { far() }; func far() { wait() }; func wait() { time.Sleep(1) }`, 1},
		"handed to what starts one":  {`func TestA(t *testing.T) { in(t, func() { time.Sleep(1) }) }; func in(t *testing.T, f func()) { synctest.Test(t, func(*testing.T) { f() }) }`, 0},
		"method of a type inside":    {`func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { w{}.run() }) }; type w struct{}; func (w) run() { time.Sleep(1) }`, 0},
		"method of a type outside":   {`func TestA(t *testing.T) { w{}.run() }; type w struct{}; func (w) run() { time.Sleep(1) }`, 1},
		"never called":               {`func wait() { time.Sleep(1) }`, 1},
		"it calls itself, inside":    {`func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { wait(3) }) }; func wait(n int) { time.Sleep(1); wait(n-1) }`, 0},
		"another's method of a name": {`func TestA(t *testing.T) { x{}.run(); synctest.Test(t, func(t *testing.T) { w{}.run() }) }; type w struct{}; func (w) run() { time.Sleep(1) }; type x struct{}; func (x) run() {}`, 0},
	} {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, "p_test.go", head+c.source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		waits := 0
		files := []file{{File: tree, path: "p/p_test.go", pkg: "p", set: set}}
		newBubble(files).each(tree, func(n ast.Node, _ string, inside bool) {
			if s, ok := n.(*ast.SelectorExpr); ok && !inside && isSelector(s, "time", "Sleep", "After") {
				waits++
			}
		})
		if waits != c.waits {
			t.Errorf("%s: %d waits are refused, want %d", name, waits, c.waits)
		}
	}
}

func TestMethodsOfEmbeddedTypesCount(t *testing.T) {
	types := typeSet{
		"p.inner": {own: []string{"a", "b"}},
		"q.wide":  {own: []string{"b", "c"}, embedded: []string{"p.inner"}},
		"q.loop":  {own: []string{"d"}, embedded: []string{"q.loop", "q.wide"}},
	}
	for name, want := range map[string]int{"p.inner": 2, "q.wide": 3, "q.loop": 4, "q.none": 0} {
		if got := len(types.methods(name, nil)); got != want {
			t.Errorf("%s has %d methods, want %d", name, got, want)
		}
	}
}

func TestAWrapperIsATypeThatHoldsNothingElse(t *testing.T) {
	const head = "package p\nimport \"sync\"\n"
	for source, want := range map[string]string{
		"type w struct{ m *Member }":            "p.Member",
		"type w struct{ *Member }":              "p.Member",
		"type w struct{ Member }":               "p.Member",
		"type w struct{ m Member }":             "",
		"type w struct{ m *Member; now clock }": "",
		"type w struct{ a, b *Member }":         "",
		"type w struct{ mu *sync.Mutex }":       "",
		"type w struct{ m func() *Member }":     "",
		"type w struct{}":                       "",
	} {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, "p.go", head+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f, got := file{File: tree, path: "p/p.go", pkg: "p", set: set}, ""
		ast.Inspect(tree, func(n ast.Node) bool {
			if shape, ok := n.(*ast.StructType); ok {
				got = f.wrapped(shape)
			}
			return got == ""
		})
		if got != want {
			t.Errorf("%s wraps %q, not %q", source, got, want)
		}
	}
	types := typeSet{"p.a": {own: []string{"A"}}, "p.b": {wraps: "p.a"}, "p.c": {wraps: "p.b"}, "p.d": {wraps: "p.e"}}
	if got := types.wrappersOf("p.a", nil); !slices.Equal(got, []string{"p.b", "p.c"}) {
		t.Errorf("the wrappers of p.a are %q", got)
	}
}

func TestADesignPageIsMeasured(t *testing.T) {
	wide := strings.Repeat("x", maxDesignColumns+1)
	for name, c := range map[string]struct{ text, want string }{
		"a short page":        {"# gpu\n\nThe GPUs of a host.\n", ""},
		"at each bound":       {strings.Repeat("word\n", maxDesignLines-1) + strings.Repeat("é", maxDesignColumns) + "\n", ""},
		"too many lines":      {strings.Repeat("\n", maxDesignLines+1), "151 lines"},
		"too many words":      {strings.Repeat("a b c d e f g h i j k\n", 110), "1210 words"},
		"a line that is wide": {"# gpu\n" + wide + "\n", "141 columns in line 2"},
		"a row that is wide":  {"| " + wide + " |\n", ""},
	} {
		if got := excessOf(c.text); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
