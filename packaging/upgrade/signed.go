package upgrade

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pinion/api/upgrade"
	"pinion/packaging/atomicfile"
	"pinion/packaging/signature"
)

// keysFile is the file of the data directory with the keys whose signatures of a new program count: those of the binary that runs, and of its operator. The
// command line of this machine reads it, which knows neither.
const keysFile = "release-keys"

// Trust records whose signatures of a new program count on a host, from now on.
func Trust(dataDir string, keys signature.Keys) error {
	var text strings.Builder
	for _, key := range keys {
		fmt.Fprintln(&text, key)
	}
	if err := atomicfile.Write(filepath.Join(dataDir, keysFile), []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("recording the release keys: %w", err)
	}
	return nil
}

// trusted are the keys of Trust; none where a host has recorded none.
func trusted(dataDir string) (signature.Keys, error) {
	text, err := os.ReadFile(filepath.Join(dataDir, keysFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the release keys: %w", err)
	}
	keys, err := signature.ParseKeys(strings.Fields(string(text)))
	if err != nil {
		return nil, fmt.Errorf("the release keys in %s: %w", filepath.Join(dataDir, keysFile), err)
	}
	return keys, nil
}

// verify checks the signature of a staged program, before anything runs it. Unless it must be signed there may be none, or one that nobody here can check:
// false. A signature that is checked and wrong is refused whoever asks.
func verify(path string, c upgrade.Config) (signed bool, err error) {
	if c.Signature == nil && !c.MustSign {
		return false, nil
	}
	keys, err := trusted(c.DataDir)
	if err != nil {
		return false, err
	}
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	_, err = signature.Verify(file, c.Signature, keys)
	if errors.Is(err, signature.ErrNoKeys) && !c.MustSign {
		c.Progress("its signature is not checked: no release key is trusted on this host (pinion up --release-key KEY)")
		return false, nil
	}
	return err == nil, err
}
