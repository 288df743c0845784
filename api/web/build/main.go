// Command build makes the web page of its sources in ../ui and of the packages in packages.json, and writes it into ../assets, compressed, where
// the program embeds it. It does nothing when nothing has changed. Run it in its directory.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/evanw/esbuild/pkg/api"
)

const (
	sources = "../ui"
	assets  = "../assets"
	sumFile = assets + "/.sum" // what the assets were made of; written last
)

// maxSize bounds the page, compressed: it is fetched over any line.
const maxSize = 150 << 10

// modulesDir is where the packages of npm are while the page is built. The names of scripts have a hash of the paths of their sources from here, so it
// is the same in each build.
const modulesDir = ".modules"

func main() {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, "web page:", err)
		os.Exit(1)
	}
}

func build() error {
	begun := time.Now()
	sum, err := digest()
	if err != nil {
		return err
	}
	if made, err := os.ReadFile(sumFile); err == nil && string(made) == sum {
		return nil
	}
	packages, err := readPackages()
	if err != nil {
		return err
	}
	modules, err := filepath.Abs(modulesDir)
	if err == nil {
		err = os.RemoveAll(modules) // of a build that was interrupted
	}
	if err != nil {
		return err
	}
	defer os.RemoveAll(modules)
	if err := unpack(packages, modules); err != nil {
		return err
	}
	if err := clear(); err != nil {
		return err
	}
	size, err := bundle(modules)
	if err == nil && size > maxSize {
		err = fmt.Errorf("it has %d bytes compressed, and may have %d", size, maxSize)
	}
	if err == nil {
		err = licences(packages, modules)
	}
	if err == nil {
		err = os.WriteFile(sumFile, []byte(sum), 0o644)
	}
	if err == nil {
		fmt.Printf("web page: %d bytes compressed, %v\n", size, time.Since(begun).Round(time.Millisecond))
	}
	return err
}

// digest is of everything that the page is made of.
func digest() (string, error) {
	hash := sha256.New()
	var files []string
	for _, pattern := range []string{"*.go", "go.mod", "packages.json", sources + "/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", file, len(text), text)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// clear removes what an earlier build has made: the digest first, so that an interrupted build never looks finished.
func clear() error {
	made, err := filepath.Glob(assets + "/*.gz")
	if err != nil {
		return err
	}
	for _, file := range append([]string{sumFile}, made...) {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// bundle makes the page's script and style sheet, and a script for each module that is loaded when it is needed. Their names have a hash of what is
// in them. The page names the first two.
func bundle(modules string) (size int, err error) {
	made := api.Build(api.BuildOptions{
		EntryPoints: []string{sources + "/main.js", sources + "/style.css"}, Outdir: assets, EntryNames: "[name]-[hash]", NodePaths: []string{modules},
		Bundle: true, Splitting: true, Plugins: []api.Plugin{styleSheets}, MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, Format: api.FormatESModule, Target: api.ES2022,
		LegalComments: api.LegalCommentsNone, Charset: api.CharsetUTF8, LogLevel: api.LogLevelWarning,
	})
	if len(made.Errors) > 0 {
		return 0, errors.New("its sources cannot be bundled, see above")
	}
	page, err := os.ReadFile(sources + "/index.html")
	if err != nil {
		return 0, err
	}
	for _, file := range made.OutputFiles {
		name := filepath.Base(file.Path)
		before, _, _ := strings.Cut(name, "-")
		page = bytes.ReplaceAll(page, []byte(before+filepath.Ext(name)), []byte(name))
		n, err := write(name, file.Contents)
		if err != nil {
			return 0, err
		}
		size += n
	}
	icon, err := os.ReadFile(sources + "/icon.svg")
	if err != nil {
		return 0, err
	}
	for name, content := range map[string][]byte{"index.html": page, "icon.svg": icon} {
		n, err := write(name, content)
		if err != nil {
			return 0, err
		}
		size += n
	}
	return size, nil
}

// licences writes those of the packages: the page shows them.
func licences(all []pkg, modules string) error {
	var text bytes.Buffer
	for _, p := range all {
		licence, err := os.ReadFile(filepath.Join(modules, p.Name, "LICENSE"))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s %s\n\n%s\n\n", p.Name, p.Version, licence)
	}
	_, err := write("licences.txt", text.Bytes())
	return err
}

// write writes an asset, compressed, and returns its size.
func write(name string, content []byte) (int, error) {
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	if _, err := io.Copy(w, bytes.NewReader(content)); err != nil {
		return 0, err
	}
	if err := w.Close(); err != nil {
		return 0, err
	}
	return compressed.Len(), os.WriteFile(filepath.Join(assets, name+".gz"), compressed.Bytes(), 0o644)
}
