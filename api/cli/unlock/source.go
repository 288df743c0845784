package unlock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

// maxSecret bounds what is read of a secret; more than a keystore takes.
const maxSecret = 8192

// Flag is the option that says where the unlock secret comes from.
func Flag(otherwise string) cli.Flag {
	return &cli.StringFlag{Name: "unlock", Value: otherwise, EnvVars: []string{"PINION_UNLOCK"}, Usage: "`SOURCE` of the unlock secret: file:PATH, or ask at the terminal"}
}

// Secret is the unlock secret of the host in a data directory, as the option says; nil without the option.
func Secret(c *cli.Context, dataDir string) ([]byte, error) {
	if c.String("unlock") == "" {
		return nil, nil
	}
	return source(c.String("unlock")).read(dataDir, "Unlock secret of "+dataDir+": ", false)
}

// source says where a secret comes from: "ask" or "file:PATH".
type source string

// read reads the secret of a host's data directory, at the terminal twice when confirm is set.
func (s source) read(dataDir, prompt string, confirm bool) ([]byte, error) {
	path, isFile := strings.CutPrefix(string(s), "file:")
	switch {
	case isFile && path != "":
		return readFile(path, dataDir)
	case s != "ask":
		return nil, exit.Usagef("the source %q of an unlock secret is not ask or file:PATH", string(s))
	case !term.IsTerminal(int(os.Stdin.Fd())):
		return nil, exit.Usagef("there is no terminal to ask for the unlock secret at: name a file with --unlock file:PATH")
	}
	secret, err := invocation.AskSecret(os.Stdin, os.Stderr, prompt)
	if err != nil || !confirm {
		return secret, err
	}
	again, err := invocation.AskSecret(os.Stdin, os.Stderr, "The same again: ")
	if err == nil && !bytes.Equal(secret, again) {
		err = errors.New("these are two secrets: nothing was changed")
	}
	return secret, err
}

// readFile reads a secret from a file that only its owner and group may read, and that is not copied with the data directory.
func readFile(path, dataDir string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("unlock secret: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("unlock secret: %w", err)
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o007 != 0 {
		return nil, exit.Usagef("everybody may read the unlock secret %s: chmod go= %s, and take another secret if somebody may have read it", path, path)
	}
	if isBelow(path, dataDir) {
		return nil, exit.Usagef("the unlock secret %s is in the data directory: whoever copies that has it too; put it elsewhere", path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSecret))
	if err != nil {
		return nil, fmt.Errorf("unlock secret %s: %w", path, err)
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	if len(text) == 0 {
		return nil, fmt.Errorf("the unlock secret %s is empty", path)
	}
	return text, nil
}

// isBelow reports whether a file is in a directory, links followed.
func isBelow(path, dir string) bool {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false // a pipe of the shell
	}
	if path, err = filepath.Abs(path); err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return strings.HasPrefix(path, dir+string(filepath.Separator))
}
