package exec

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// pack writes a file, or a directory with all that is in it, as a tar archive, in which it has a name of its own.
func pack(to io.Writer, from, name string) error {
	out := tar.NewWriter(to)
	err := filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		return packOne(out, file, path.Join(name, filepath.ToSlash(relative)), entry)
	})
	return errors.Join(err, out.Close())
}

func packOne(out *tar.Writer, file, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, filepath.ToSlash(link))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	header.Name, header.Uid, header.Gid, header.Uname, header.Gname = name, 0, 0, "", "" // whose it is here means nothing there
	if err := out.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(out, in)
	return err
}

// unpack writes what is in a tar archive below a directory, and nothing beside it, whatever the archive says: a task has made it. All of it is the one
// file, link or directory by the name was, which gets the name is. What is in that directory has no way out of it.
func unpack(from io.Reader, dir, was, is string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	in := tar.NewReader(from)
	first, err := next(in)
	if err != nil {
		return err
	}
	if first == nil || strings.TrimSuffix(first.Name, "/") != was {
		return fmt.Errorf("the archive of the container does not begin with %q", was)
	}
	if there, err := root.Lstat(is); err == nil && there.Mode()&fs.ModeSymlink != 0 && first.Typeflag != tar.TypeSymlink {
		return fmt.Errorf("%s is a symbolic link, which an archive may have left: remove it, or name another target", filepath.Join(dir, is))
	}
	if err := unpackOne(root, in, first, is); err != nil {
		return err
	}
	inside := root // unused unless the first is a directory
	if first.Typeflag == tar.TypeDir {
		if inside, err = root.OpenRoot(is); err != nil {
			return err
		}
		defer inside.Close()
	}
	if err := unpackBelow(inside, in, first); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, from) // what tar fills its last block up with: who writes it waits for it to be read
	return nil
}

// unpackBelow writes the rest of an archive, which is below its first.
func unpackBelow(inside *os.Root, in *tar.Reader, first *tar.Header) error {
	for {
		header, err := next(in)
		if header == nil || err != nil {
			return err
		}
		name := strings.TrimSuffix(header.Name, "/")
		rest, below := strings.CutPrefix(name, strings.TrimSuffix(first.Name, "/")+"/")
		if !below || path.Clean(name) != name || first.Typeflag != tar.TypeDir {
			return fmt.Errorf("the archive of the container has %q, which is not below its first, %q", header.Name, first.Name)
		}
		if err := unpackOne(inside, in, header, filepath.FromSlash(rest)); err != nil {
			return err
		}
	}
}

// next is the next of an archive, nil at its end.
func next(in *tar.Reader) (*tar.Header, error) {
	header, err := in.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the archive of the container: %w", err)
	}
	return header, nil
}

// permissions are the bits of a mode that are taken over: no others than the user's own rights.
const permissions = 0o777

func unpackOne(root *os.Root, in io.Reader, header *tar.Header, name string) error {
	mode := fs.FileMode(header.Mode & permissions)
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, mode|0o700)
	case tar.TypeSymlink:
		_ = root.Remove(name) // one that is there
		return root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode|0o200)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		return errors.Join(err, out.Close())
	}
	return fmt.Errorf("%s is neither a file, a directory nor a symbolic link: it is not copied", header.Name)
}
