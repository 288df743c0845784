// Package bundle carries the container runtime inside the pinion binary: containerd, its shim, runc, the network
// plugins and Pinion's own helpers. `make` builds and packs them (see build); Unpack puts them on the host's disk.
package bundle

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pinion/packaging/bundle/archive"
)

// embedded holds tools.txt always, and tools.tar.zst and tools.sum when `make` has built them.
//
//go:embed tools*
var embedded embed.FS

// ErrNotBuilt is the error of a binary that was compiled without the tools.
var ErrNotBuilt = errors.New("this pinion was built without its container runtime: build it with `make build`")

// Tools are the absolute paths of the unpacked programs.
type Tools struct {
	Containerd string
	Shim       string // containerd-shim-runc-v2
	Runc       string
	CNI        string // directory with the network plugins bridge, host-local, loopback and portmap
	Logger     string // path of pinion-logger, which writes the output of one container to its log file
	Entrypoint string // path of pinion-entrypoint, which gives a container the secrets of its environment
	NVML       string // path of pinion-nvml, which calls the NVIDIA driver
}

// Unpack ensures that the tools of this binary are complete and undamaged in dir/<digest>, and returns their paths. Every
// call checks every file. A missing or different file is written beside the old one and renamed over it, so processes that
// run from the old file are not disturbed, and the next call completes an interrupted one. Calls from several processes
// wait for each other. Other versions in dir are kept while a process runs from them; the latest of them is always kept.
//
// It fails with ErrNotBuilt when the binary carries no tools.
func Unpack(dir string) (Tools, error) {
	return unpack(embedded, dir)
}

func unpack(source fs.FS, dir string) (Tools, error) {
	text, err := fs.ReadFile(source, "tools.sum")
	if errors.Is(err, fs.ErrNotExist) {
		return Tools{}, ErrNotBuilt
	}
	if err != nil {
		return Tools{}, err
	}
	sums, err := archive.ParseSums(string(text))
	if err != nil {
		return Tools{}, fmt.Errorf("the list of tools in this binary: %w", err)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return Tools{}, err
	}
	digest := sha256.Sum256(text)
	versionDir := filepath.Join(dir, hex.EncodeToString(digest[:8]))
	if err := os.MkdirAll(versionDir, 0o755); err != nil {
		return Tools{}, fmt.Errorf("making a place for the tools: %w", err)
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return Tools{}, err
	}
	defer unlock()
	if err := ensureTools(source, versionDir, sums); err != nil {
		return Tools{}, fmt.Errorf("unpacking the tools into %s: %w", versionDir, err)
	}
	return toolsIn(versionDir), removeOldVersions(dir, versionDir)
}

// ensureTools makes every tool in home match its digest.
func ensureTools(source fs.FS, versionDir string, sums []archive.Sum) error {
	// The modification time of a directory is the last use of its version; removeOldVersions reads it.
	if err := os.Chtimes(versionDir, time.Now(), time.Now()); err != nil {
		return err
	}
	wanted := map[string]string{}
	for _, sum := range sums {
		if !intact(versionDir, sum) {
			wanted[sum.Name] = sum.Digest
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	defer releaseMemory()
	return extract(source, versionDir, wanted)
}

func toolsIn(versionDir string) Tools {
	return Tools{
		Containerd: filepath.Join(versionDir, "containerd"),
		Shim:       filepath.Join(versionDir, "containerd-shim-runc-v2"),
		Runc:       filepath.Join(versionDir, "runc"),
		CNI:        filepath.Join(versionDir, "cni"),
		Logger:     filepath.Join(versionDir, "pinion-logger"),
		Entrypoint: filepath.Join(versionDir, "pinion-entrypoint"),
		NVML:       filepath.Join(versionDir, "pinion-nvml"),
	}
}
