package invocation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pinion/api/cli/exit"
	"pinion/packaging/atomicfile"
	"pinion/raftfsm/lazyregexp"
)

// DefaultContext is the context of those who name none.
const DefaultContext = "default"

const (
	loginFile   = "login.json"
	currentFile = "context" // names the current context
)

var contextName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// errNoConfigDir is wrapped where a user has no place for contexts.
var errNoConfigDir = errors.New("this user has no directory for configuration: set HOME or XDG_CONFIG_HOME")

// contextsDir is the directory of the contexts: that of the default one, in which the others lie.
func contextsDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", errNoConfigDir
	}
	return filepath.Join(dir, "pinion"), nil
}

// contextDir is the directory of a context, which may not exist.
func contextDir(name string) (string, error) {
	dir, err := contextsDir()
	switch {
	case err != nil || name == DefaultContext:
		return dir, err
	case !contextName.MatchString(name):
		return "", exit.Usagef("the name of a context has letters, digits, dots, dashes and underscores, 64 at most: not %q", name)
	}
	return filepath.Join(dir, "contexts", name), nil
}

// CurrentContext is the context that commands use without --context.
func CurrentContext() (string, error) {
	dir, err := contextsDir()
	if err != nil {
		return DefaultContext, err
	}
	text, err := os.ReadFile(filepath.Join(dir, currentFile))
	if errors.Is(err, fs.ErrNotExist) {
		return DefaultContext, nil
	}
	return strings.TrimSpace(string(text)), err
}

// UseContext makes a context the current one. It has to have a login.
func UseContext(name string) error {
	if err := NeedContext(name); err != nil {
		return err
	}
	dir, err := contextsDir()
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, currentFile), []byte(name+"\n"), 0o600)
}

// NeedContext refuses the name of a context that has no login.
func NeedContext(name string) error {
	dir, err := contextDir(name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, loginFile)); err != nil {
		return fmt.Errorf("there is no context %q: `pinion context ls` shows those there are, `pinion login --context %s` makes one", name, name)
	}
	return nil
}

// Contexts are the names of this user's contexts, in order.
func Contexts() ([]string, error) {
	dir, err := contextsDir()
	if err != nil {
		return nil, err
	}
	var names []string
	if _, err := os.Stat(filepath.Join(dir, loginFile)); err == nil {
		names = append(names, DefaultContext)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "contexts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if contextName.MatchString(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// RemoveContext forgets a context: its login with the access key, and its CA. The key lives until it is removed or expires.
func RemoveContext(name string) error {
	dir, err := contextDir(name)
	if err != nil {
		return err
	}
	paths := []string{dir}
	if name == DefaultContext { // the others lie in its directory
		paths = []string{filepath.Join(dir, loginFile), filepath.Join(dir, "ca.pem")}
	}
	if _, err := os.Stat(paths[0]); err != nil {
		return NeedContext(name)
	}
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}
