package invocation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInputThatNoContainerGetsIsRefused(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	if err := RefuseInput(read, ""); err != nil {
		t.Errorf("a pipe without input: %v", err)
	}
	if _, err := write.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if RefuseInput(read, "") == nil {
		t.Error("input in a pipe is dropped")
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if RefuseInput(file, "") == nil {
		t.Error("a file is dropped")
	}
	if _, err := file.Read(make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	if err := RefuseInput(file, ""); err != nil {
		t.Errorf("a file that was read to its end: %v", err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if RefuseInput(null, "") != nil || RefuseInput(strings.NewReader("x"), "") != nil {
		t.Error("what has no input is refused")
	}
}
