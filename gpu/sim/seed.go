package sim

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const seedDigits = 32

// readSeed returns the host's seed, which is created at first use and kept in dir.
func readSeed(dir string) (string, error) {
	path := filepath.Join(dir, "seed")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeSeed(path)
	}
	if err != nil {
		return "", fmt.Errorf("seed of the simulated GPUs: %w", err)
	}
	seed := strings.TrimSpace(string(content))
	if _, err := hex.DecodeString(seed); err != nil || len(seed) != seedDigits {
		return "", fmt.Errorf("%s is damaged: it must hold %d hex digits; remove it, and the simulated GPUs get new UUIDs", path, seedDigits)
	}
	return seed, nil
}

// makeSeed writes a temporary file and renames it, so that a crash leaves no partial seed.
func makeSeed(path string) (string, error) {
	var random [seedDigits / 2]byte
	rand.Read(random[:])
	seed := hex.EncodeToString(random[:])
	fresh := path + ".new"
	if err := os.WriteFile(fresh, []byte(seed+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("seed of the simulated GPUs: %w", err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return "", fmt.Errorf("seed of the simulated GPUs: %w", err)
	}
	return seed, nil
}
