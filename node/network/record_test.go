package network

import (
	"os"
	"reflect"
	"testing"
)

// Records are not synced: a power cut leaves any beginning of one. It is read as whole, or as an attachment that is to be removed.
func TestATornRecordIsWholeOrEmpty(t *testing.T) {
	store := recordStore{dir: t.TempDir()}
	want := record{ID: "c", Sandbox: "sandbox", Address: "10.0.0.7", Complete: true}
	if err := store.write(want); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(store.path("c"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) + 1 {
		if err := os.WriteFile(store.path("c"), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, found := store.read("c")
		if !found || !reflect.DeepEqual(got, want) && !reflect.DeepEqual(got, record{ID: "c"}) {
			t.Errorf("%d bytes of %d: %+v", n, len(whole), got)
		}
	}
}
