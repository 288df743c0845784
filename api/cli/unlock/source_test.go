package unlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"pinion/api/cli/exit"

	"pinion/api/cli/invocation"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func TestASecretComesFromAFile(t *testing.T) {
	data, elsewhere := t.TempDir(), t.TempDir()
	path := filepath.Join(elsewhere, "secret")
	for text, want := range map[string]string{"a secret\n": "a secret", "a secret\r\n": "a secret", " two\nlines\n": " two\nlines"} {
		write(t, path, text, 0o440)
		if got, err := source("file:"+path).read(data, "", true); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	write(t, path, "a secret", 0o604)
	inside := filepath.Join(data, "secret")
	write(t, inside, "a secret", 0o600)
	link := filepath.Join(elsewhere, "link")
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(elsewhere, "empty")
	write(t, empty, "\n", 0o600)
	for _, wrong := range []string{"file:" + path, "file:" + inside, "file:" + link, "file:" + empty, "file:" + elsewhere + "/none", "file:" + elsewhere, "file:", path, ""} {
		if got, err := source(wrong).read(data, "", false); err == nil {
			t.Errorf("%s: %q", wrong, got)
		}
	}
}

func TestWithoutATerminalNobodyIsAsked(t *testing.T) {
	if term.IsTerminal(int(os.Stdin.Fd())) {
		t.Skip("there is a terminal")
	}
	_, err := source("ask").read(t.TempDir(), "", false)
	if coded, ok := errors.AsType[*exit.Error](err); !ok || coded.Code != exit.Usage {
		t.Errorf("%v", err)
	}
}

// terminals are the two ends of a terminal: what a person types at, and what the program reads.
func terminals(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetUint32(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

func TestASecretIsAskedForAtATerminal(t *testing.T) {
	person, program := terminals(t)
	var prompt strings.Builder
	if _, err := person.WriteString("typed at the terminal\n"); err != nil {
		t.Fatal(err)
	}
	got, err := invocation.AskSecret(program, &prompt, "Unlock secret: ")
	if err != nil || string(got) != "typed at the terminal" || prompt.String() != "Unlock secret: \n" {
		t.Errorf("%q, %v, after %q", got, err, prompt.String())
	}
}
