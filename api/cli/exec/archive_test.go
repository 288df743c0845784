package exec

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestADirectoryIsCopiedWithAllThatIsInIt(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "data"), t.TempDir()
	for name, text := range map[string]string{"a.txt": "one", "below/b.txt": "two", "below/empty/c": "", "caf\xe9": "in Latin-1"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.txt", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := pack(&archive, from, "there"); err != nil {
		t.Fatal(err)
	}
	archive.Write(make([]byte, 10240)) // tar fills its last block up
	if err := unpack(&archive, to, "there", "here"); err != nil {
		t.Fatal(err)
	}
	if archive.Len() > 0 {
		t.Errorf("%d bytes of the archive are left, and who writes them waits", archive.Len())
	}
	for name, want := range map[string]string{"a.txt": "one", "below/b.txt": "two", "below/empty/c": "", "caf\xe9": "in Latin-1", "link": "one"} {
		if got, err := os.ReadFile(filepath.Join(to, "here", name)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v", name, got, err)
		}
	}
}

// A task makes the archive, and it may be anybody's.
func TestAnArchiveWritesNothingOutside(t *testing.T) {
	file := func(name string) *tar.Header {
		return &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o4777, Size: 4}
	}
	link := func(name, to string) *tar.Header {
		return &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	directory := &tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o755}
	for name, headers := range map[string][]*tar.Header{
		"a path upward":         {file("d/../../evil")},
		"a path of its own":     {file("/evil")},
		"another name":          {file("evil")},
		"a name that begins so": {file("devil")},
		"through a link":        {directory, link("d/link", "../.."), file("d/link/evil")},
		"through a link to /":   {link("d", "/"), file("d/evil")},
		"beside":                {directory, file("d/../evil")},
		"twice":                 {directory, link("d", "."), file("d/evil")},
		"beside, by a link":     {directory, link("d/link", ".."), file("d/link/evil")},
		"a link to itself":      {link("d", "."), file("d/evil")},
		"a link to a file":      {link("d", "evil"), file("d")},
		"below a file":          {file("d"), file("d/evil")},
		"no directory":          {file("d/evil")},
		"a device":              {{Name: "d", Typeflag: tar.TypeChar, Mode: 0o666}},
		"a hard link":           {{Name: "d", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
	} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			dir := filepath.Join(outside, "one", "two")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := unpack(archiveOf(t, headers...), dir, "d", "d"); err == nil {
				t.Error("it is taken")
			}
			filepath.WalkDir(outside, func(path string, entry os.DirEntry, _ error) error {
				if entry != nil && entry.Name() == "evil" {
					t.Errorf("%s was written", path)
				}
				return nil
			})
		})
	}
	t.Run("set-user-id", func(t *testing.T) {
		dir := t.TempDir()
		if err := unpack(archiveOf(t, file("d")), dir, "d", "d"); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, "d")); err != nil || info.Mode()&os.ModeSetuid != 0 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
}

// What an archive leaves as a link is no way for the next one, which may be of the same task.
func TestALinkThatIsThereIsNoWayForAnArchive(t *testing.T) {
	for name, headers := range map[string][]*tar.Header{
		"a file":      {{Name: "d", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}},
		"a directory": {{Name: "d", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "d/kept", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "kept"), []byte("mine"), 0o644); err != nil {
				t.Fatal(err)
			}
			to := map[string]string{"a file": "kept", "a directory": "."}[name]
			if err := unpack(archiveOf(t, &tar.Header{Name: "d", Typeflag: tar.TypeSymlink, Linkname: to}), dir, "d", "d"); err != nil {
				t.Fatal(err)
			}
			if err := unpack(archiveOf(t, headers...), dir, "d", "d"); err == nil {
				t.Error("it is taken")
			}
			if is, err := os.ReadFile(filepath.Join(dir, "kept")); err != nil || string(is) != "mine" {
				t.Errorf("%q, %v", is, err)
			}
		})
	}
}

// archiveOf is a tar archive; each of its files has "evil" in it.
func archiveOf(t *testing.T, headers ...*tar.Header) io.Reader {
	var archive bytes.Buffer
	out := tar.NewWriter(&archive)
	for _, h := range headers {
		if err := out.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			out.Write([]byte("evil"))
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return &archive
}

func TestWhatIsATaskAndWhatAPath(t *testing.T) {
	for word, want := range map[string][2]string{
		"train:/work": {"/work", "train"}, "3f2a:model.pt": {"model.pt", "3f2a"}, "data": {"data", ""}, "./a:b": {"./a:b", ""}, "dir/a:b": {"dir/a:b", ""}, ":x": {":x", ""}, "-": {"-", ""},
	} {
		if name, task := taskPath(word); [2]string{name, task} != want {
			t.Errorf("%s: %q of %q", word, name, task)
		}
	}
}
