package keystore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pinion/packaging/atomicfile"
)

// errCrash is where a test ends the process.
var errCrash = errors.New("crash")

// crashAt has the n-th write end after so many bytes, as a power cut does: before the file gets its name. The other writes are whole.
// It returns how long that write is, when it is cut.
func crashAt(t *testing.T, n, bytes int) (length *int) {
	t.Helper()
	whole, length := atomicfile.Replace, new(int)
	writeFile = func(path string, content []byte, mode fs.FileMode) error {
		if n--; n < 0 {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), ".new-cut"), content[:min(bytes, len(content))], mode); err != nil {
				t.Fatal(err)
			}
			*length = len(content)
			return errCrash
		}
		return whole(path, content, mode)
	}
	return length
}

// Whatever is cut short, at whatever sector of whatever write, one secret opens everything or `pinion unlock` says to go on, and it
// goes on to the end.
func TestAPowerCutAtAnySectorLeavesKeysThatOpen(t *testing.T) {
	const sector = 512
	for name, change := range map[string]struct {
		locked bool
		do     func(dir string) error
		opens  []string // one of these does, after it was done again
	}{
		"set":    {false, func(dir string) error { return Set(dir, []byte(secret)) }, []string{secret}},
		"change": {true, func(dir string) error { return Change(dir, []byte(secret), []byte(other)) }, []string{secret, other}},
		"off":    {true, func(dir string) error { return Off(dir, []byte(secret)) }, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			for write, cuts := 0, 1; cuts > 0; write++ {
				cuts = 0
				for at, length := 0, 1; at < length+sector; at += sector {
					dir, keys := dataDir(t)
					if change.locked {
						dir, keys = lockedDir(t)
					}
					cut := crashAt(t, write, at)
					if err := change.do(dir); errors.Is(err, errCrash) {
						cuts++
					} else if err != nil {
						t.Fatal(err)
					}
					writeFile, length = atomicfile.Replace, *cut
					checkGoesOn(t, dir, keys, change.do, change.opens)
				}
			}
		})
	}
}

// checkGoesOn checks that what was cut short is refused or opens, and comes to its end when it is done again.
func checkGoesOn(t *testing.T, dir string, keys map[string]string, again func(dir string) error, opens []string) {
	t.Helper()
	stores := map[string]error{}
	for _, with := range []string{"", secret, other} {
		given := []byte(with)
		if with == "" {
			given = nil
		}
		if _, err := Open(dir, given); err == nil {
			checkOpens(t, dir, keys, given)
			stores[with] = nil
		} else if !errors.Is(err, ErrUnlock) {
			t.Errorf("with %q: %v", with, err)
		}
	}
	if len(opens) == 2 && len(stores) != 1 {
		t.Errorf("%d secrets open the keys, want one", len(stores))
	}
	if err := again(dir); err != nil && !errors.Is(err, ErrUnlock) {
		t.Fatal(err)
	}
	opened := slices.DeleteFunc(slices.Clone(opens), func(with string) bool {
		given := []byte(with)
		if with == "" {
			given = nil
		}
		_, err := Open(dir, given)
		if err == nil {
			checkOpens(t, dir, keys, given)
		}
		return err != nil
	})
	if len(opened) != 1 {
		t.Errorf("%q open the keys after it was done again", opened)
	}
	if opens[0] != "" {
		checkTellsNothing(t, dir, keys)
	}
}

// A change that was cut short comes to its end at the next start.
func TestAStartEndsAChangeThatWasCutShort(t *testing.T) {
	dir, keys := lockedDir(t)
	crashAt(t, 2, 0)
	if err := Change(dir, []byte(secret), []byte(other)); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	writeFile = atomicfile.Replace
	between := contents(t, dir)[LockFile]
	checkOpens(t, dir, keys, []byte(other))
	after, err := openLock(dir, []byte(other))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, LockFile, between)
	if before, err := openLock(dir, []byte(other)); err != nil || len(before.identities) != 2 || len(after.identities) != 1 {
		t.Errorf("%d identities, then %d: %v", len(before.identities), len(after.identities), err)
	}
}
