package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func (r reply) decode(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal(r.Body.Bytes(), into); err != nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
}

// golden compares the answer, indented, with testdata/<name>.json.
func (r reply) golden(t *testing.T, name string) {
	t.Helper()
	var text bytes.Buffer
	if err := json.Indent(&text, r.Body.Bytes(), "", "  "); err != nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
	text.WriteByte('\n')
	if bytes.Contains(text.Bytes(), []byte(": null")) {
		t.Errorf("%s holds a null: absent members are left out, lists are []\n%s", name, &text)
	}
	path := filepath.Join("testdata", name+".json")
	if *rewrite {
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text.Bytes(), want) {
		t.Errorf("%s is not as it was (go test ./api -rewrite writes it anew)\ngot:\n%s\nwant:\n%s", path, &text, want)
	}
}
