package images

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/pkg/archive/compression"
	"github.com/containerd/platforms"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// ErrNoFile means that no layer of an image has a file of that name.
var ErrNoFile = errors.New("the image has no such file")

// File writes a file of an image, as its highest layer with the name has it. The name is as in the archive of the layer, without a slash before it. An image
// that is not here comes from other hosts first. Layers were checked against their digests when they came. ErrNoFile.
func File(ctx context.Context, s *Store, name, digest, file string, to io.Writer) error {
	target, err := ensure(ctx, s, name, digest, nil)
	if err != nil {
		return err
	}
	store := s.config.Client.ContentStore()
	manifest, err := images.Manifest(ctx, store, target, platforms.Default())
	if err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	for _, layer := range slices.Backward(manifest.Layers) {
		found, err := copyFile(ctx, store, layer, file, to)
		if err != nil {
			return fmt.Errorf("image %s, layer %s: %w", name, layer.Digest, err)
		}
		if found {
			return nil
		}
	}
	return fmt.Errorf("image %s: %s: %w", name, file, ErrNoFile)
}

// copyFile writes a file of a layer if that has it.
func copyFile(ctx context.Context, store content.Provider, layer ocispec.Descriptor, file string, to io.Writer) (found bool, err error) {
	blob, err := store.ReaderAt(ctx, layer)
	if err != nil {
		return false, err
	}
	defer blob.Close()
	plain, err := compression.DecompressStream(content.NewReader(blob))
	if err != nil {
		return false, err
	}
	defer plain.Close()
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case header.Name == file && header.Typeflag == tar.TypeReg:
			_, err := io.Copy(to, archive)
			return true, err
		}
	}
}
