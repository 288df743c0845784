// Image writes the container image of a release as an OCI archive, with pinion for each processor that is named:
//
//	image -version v1.2.3 -created 1700000000 -o FILE amd64=bin/pinion arm64=bin/pinion-linux-arm64
//
// The same programs give the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// program is the path of pinion in the image.
const program = "usr/bin/pinion"

func main() {
	version := flag.String("version", "dev", "tag of the image pinion")
	created := flag.Int64("created", 0, "seconds since 1970 that the image is of")
	output := flag.String("o", "", "file to write")
	flag.Parse()
	if err := write(*output, *version, time.Unix(*created, 0).UTC(), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// write makes the archive of the programs, each of which is ARCH=FILE.
func write(output, version string, created time.Time, programs []string) error {
	var index v1.ImageIndex = empty.Index
	for _, each := range programs {
		arch, file, ok := strings.Cut(each, "=")
		if !ok {
			return fmt.Errorf("%q names no processor: say ARCH=FILE", each)
		}
		image, err := imageOf(arch, file, version, created)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		platform := &v1.Platform{OS: "linux", Architecture: arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	dir, err := os.MkdirTemp("", "pinion-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// The names by which docker and containerd call what they load.
	names := map[string]string{"org.opencontainers.image.ref.name": version, "io.containerd.image.name": "docker.io/library/pinion:" + version}
	if err := path.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return err
	}
	return pack(output, dir, created)
}

// imageOf is the image for one processor: the program, and a directory for what it writes while it is small.
func imageOf(arch, file, version string, created time.Time) (v1.Image, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	dirs := []string{"usr/", "usr/bin/", "tmp/", "var/", "var/lib/"}
	for _, name := range dirs {
		mode := int64(0o755)
		if name == "tmp/" {
			mode = 0o1777
		}
		err = errors.Join(err, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, ModTime: created}))
	}
	err = errors.Join(err, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: program, Mode: 0o755, Size: int64(len(content)), ModTime: created}))
	if _, writeErr := archive.Write(content); errors.Join(err, writeErr, archive.Close()) != nil {
		return nil, errors.Join(err, writeErr)
	}
	blob, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(empty.Image, mutate.Addendum{Layer: blob, History: v1.History{CreatedBy: "make release", Created: v1.Time{Time: created}}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.Architecture, config.OS, config.Created = arch, "linux", v1.Time{Time: created}
	config.Config = v1.Config{
		Entrypoint: []string{"/" + program},
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Labels:     map[string]string{"org.opencontainers.image.title": "pinion", "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
	return mutate.ConfigFile(image, config)
}

// pack writes the files of a directory as an archive whose entries have one time and no owner.
func pack(output, dir string, created time.Time) error {
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer file.Close()
	archive := tar.NewWriter(file)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(dir, path)
		if err != nil || relErr != nil || name == "." {
			return errors.Join(err, relErr)
		}
		if entry.IsDir() {
			return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: created})
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: created}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	return errors.Join(err, archive.Close(), file.Close())
}
