package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/packaging/bundle/tool"
)

// packed is a package that calls zstd.NewWriter of klauspost/compress.
var packed = []tool.Tool{{Name: "archive", Package: "pinion/packaging/bundle/archive"}}

// vulnerability is an entry of a database: a function of klauspost/compress that is vulnerable before a version.
type vulnerability struct{ id, function, fixed string }

// newDatabase writes a database as https://go.dev/doc/security/vuln/database describes it, and returns its URL.
func newDatabase(t *testing.T, entries ...vulnerability) string {
	t.Helper()
	const when, module = "2026-01-02T00:00:00Z", "github.com/klauspost/compress"
	type object = map[string]any
	dir := t.TempDir()
	write := func(name string, value any) {
		t.Helper()
		text, err := json.Marshal(value)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var all []object
	for _, v := range entries {
		all = append(all, object{"id": v.id, "modified": when, "fixed": v.fixed})
		write("ID/"+v.id+".json", object{
			"schema_version": "1.3.1", "id": v.id, "modified": when, "published": when, "summary": "made up", "details": "made up",
			"database_specific": object{"url": "https://pkg.go.dev/vuln/" + v.id},
			"affected": []object{{
				"package":            object{"name": module, "ecosystem": "Go"},
				"ranges":             []object{{"type": "SEMVER", "events": []object{{"introduced": "0"}, {"fixed": v.fixed}}}},
				"ecosystem_specific": object{"imports": []object{{"path": module + "/zstd", "symbols": []string{v.function}}}},
			}},
		})
	}
	write("index/db.json", object{"modified": when})
	write("index/vulns.json", all)
	write("index/modules.json", []object{{"path": module, "vulns": all}})
	return "file://" + dir
}

func TestAVulnerableFunctionThatIsCalledIsFound(t *testing.T) {
	var out strings.Builder
	err := check(t.Context(), &out, newDatabase(t, vulnerability{"GO-2026-0001", "NewWriter", "99.0.0"}), packed)
	if !errors.Is(err, errVulnerable) || !strings.Contains(out.String(), "GO-2026-0001") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// Neither what is not called nor what was mended before our version is a finding.
func TestOtherVulnerabilitiesAreNoFinding(t *testing.T) {
	var out strings.Builder
	err := check(t.Context(), &out, newDatabase(t, vulnerability{"GO-2026-0001", "BuildDict", "99.0.0"}, vulnerability{"GO-2026-0002", "NewWriter", "1.0.0"}), packed)
	if err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestWithoutADatabaseNothingPasses(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, database := range []string{"http://" + closed.Addr().String(), "file://" + t.TempDir()} {
		var out strings.Builder
		if err := check(t.Context(), &out, database, packed); !errors.Is(err, errDatabase) || out.Len() > 0 {
			t.Errorf("%s: %v\n%s", database, err, &out)
		}
	}
}
