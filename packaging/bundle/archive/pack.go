package archive

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// windowSize is the compressor's window. All tools are Go programs and share most of their runtime, so a window wider than
// one tool makes the archive smaller; unpacking needs this much memory for a moment.
const windowSize = 16 << 20

// Pack writes the named files below dir to w, and returns their digests. The output is deterministic: it has no times,
// owners or modes.
func Pack(w io.Writer, dir string, names []string) ([]Sum, error) {
	compressor, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(windowSize))
	if err != nil {
		return nil, err
	}
	files := tar.NewWriter(compressor)
	var sums []Sum
	for _, name := range names {
		sum, err := packFile(files, dir, name)
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", name, err)
		}
		sums = append(sums, sum)
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	return sums, compressor.Close()
}

func packFile(files *tar.Writer, dir, name string) (Sum, error) {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return Sum{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Sum{}, err
	}
	if err := files.WriteHeader(&tar.Header{Name: name, Size: info.Size(), Mode: 0o755}); err != nil {
		return Sum{}, err
	}
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(files, hash), file); err != nil {
		return Sum{}, err
	}
	return Sum{Digest: hex.EncodeToString(hash.Sum(nil)), Name: name}, nil
}
