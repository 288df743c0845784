package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Read streams an archive that Pack wrote and passes each file to take, in the order of packing. A take that does not read
// its content skips the file. Memory use stays near the compressor's window, whatever the archive's size.
func Read(r io.Reader, visit func(name string, content io.Reader) error) error {
	expander, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowSize))
	if err != nil {
		return err
	}
	defer expander.Close()
	files := tar.NewReader(expander)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the archive of tools is damaged: %w", err)
		}
		if err := visit(header.Name, files); err != nil {
			return err
		}
	}
}
