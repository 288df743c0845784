package program

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAProgramIsFoundBelowTheRootAlone(t *testing.T) {
	outside := t.TempDir()
	root := filepath.Join(outside, "root")
	write := func(path string, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, mode)); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, path string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(root, path)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outside, "hostile"), 0o755)
	write(filepath.Join(root, "bin/tool"), 0o755)
	write(filepath.Join(root, "bin/text"), 0o644)
	write(filepath.Join(root, "work/run.sh"), 0o755)
	link("/bin/tool", "linked")
	link("../hostile", "out")
	link(filepath.Join(outside, "hostile"), "away")
	for name, c := range map[string]struct {
		name, paths string
		want        error // nil: it is there
	}{
		"on the PATH":                       {"tool", "/sbin:/bin", nil},
		"not on the PATH":                   {"tool", "/sbin:/work", exec.ErrNotFound},
		"without a PATH":                    {"tool", "", exec.ErrNotFound},
		"no program on the PATH":            {"text", "/bin", exec.ErrNotFound},
		"a directory on the PATH":           {"bin", "/", exec.ErrNotFound},
		"a path":                            {"/bin/tool", "", nil},
		"a path below the directory":        {"./run.sh", "", nil},
		"a PATH below the directory":        {"run.sh", ".", nil},
		"a path of nothing":                 {"/bin/none", "", unix.ENOENT},
		"a path through a file":             {"/bin/tool/none", "", unix.ENOTDIR},
		"a directory":                       {"/bin", "", unix.EISDIR},
		"no program":                        {"/bin/text", "", unix.EACCES},
		"a link within":                     {"/linked", "", nil},
		"a link out of it":                  {"/out", "", unix.ENOENT},
		"a link to a path of the host":      {"/away", "", unix.ENOENT},
		"a path out of it":                  {"/../../../../../.." + outside + "/hostile", "", unix.ENOENT},
		"a PATH of the host's own programs": {"hostile", outside + ":../..", exec.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			err := Find(root, c.name, "/work", c.paths)
			if _, is := errors.AsType[*exec.Error](err); !errors.Is(err, c.want) || is != (c.want != nil) {
				t.Errorf("%v, not %v", err, c.want)
			}
		})
	}
}
