package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// pkg is a package of the npm registry, pinned by the digest of its archive.
type pkg struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Integrity string `json:"integrity"` // as npm writes it: sha512- and base64
}

// archive is the file of the package. That of @xterm/xterm is xterm-6.0.0.tgz, and is kept as @xterm-xterm-6.0.0.tgz.
func (p pkg) archive() string { return path.Base(p.Name) + "-" + p.Version + ".tgz" }

func (p pkg) kept() string { return strings.ReplaceAll(p.Name, "/", "-") + "-" + p.Version + ".tgz" }

// readPackages reads the packages that the page is made with.
func readPackages() (all []pkg, err error) {
	text, err := os.ReadFile("packages.json")
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, err
}

// unpack makes node_modules of the packages.
func unpack(all []pkg, modules string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	cache = filepath.Join(cache, "pinion-web")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	for _, p := range all {
		archive, err := p.read(cache)
		if err == nil {
			err = extract(archive, filepath.Join(modules, p.Name))
		}
		if err != nil {
			return fmt.Errorf("package %s %s of the npm registry: %w", p.Name, p.Version, err)
		}
	}
	return nil
}

// read returns the archive of the package, from the cache or from the registry, once its digest is right.
func (p pkg) read(cache string) ([]byte, error) {
	file := filepath.Join(cache, p.kept())
	if archive, err := os.ReadFile(file); err == nil && p.check(archive) == nil {
		return archive, nil
	}
	archive, err := fetch(registry() + "/" + p.Name + "/-/" + p.archive())
	if err == nil {
		err = p.check(archive)
	}
	if err == nil {
		err = os.WriteFile(file, archive, 0o644)
	}
	return archive, err
}

func (p pkg) check(archive []byte) error {
	sum := sha512.Sum512(archive)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != p.Integrity {
		return fmt.Errorf("its digest is %s, not %s", got, p.Integrity)
	}
	return nil
}

// registry is the registry that npm is set to.
func registry() string {
	set := cmp.Or(os.Getenv("NPM_CONFIG_REGISTRY"), os.Getenv("npm_config_registry"))
	if home, err := os.UserHomeDir(); err == nil && set == "" {
		text, _ := os.ReadFile(filepath.Join(home, ".npmrc"))
		for line := range strings.Lines(string(text)) {
			if name, value, is := strings.Cut(line, "="); is && strings.TrimSpace(name) == "registry" {
				set = strings.TrimSpace(value)
			}
		}
	}
	return strings.TrimSuffix(cmp.Or(set, "https://registry.npmjs.org"), "/")
}

// maxArchive bounds what is taken from a registry.
const maxArchive = 16 << 20

func fetch(url string) ([]byte, error) {
	client := http.Client{Timeout: 2 * time.Minute}
	response, err := client.Get(url)
	if err != nil {
		return nil, fmt.Errorf("%w (NPM_CONFIG_REGISTRY names another registry)", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxArchive))
}

// extract writes the files of an archive below a directory; they lie in package/ there.
func extract(archive []byte, dir string) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(path.Clean(header.Name), "/")
		if header.Typeflag != tar.TypeReg || !fs.ValidPath(name) {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, text, 0o644); err != nil {
			return err
		}
	}
}
