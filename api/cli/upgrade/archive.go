package upgrade

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"pinion/api/upgrade"
)

// program is a file with a new program.
type program struct {
	file         *os.File
	digest       string // "sha256:" and 64 hex digits
	architecture string // GOARCH of the hosts that it runs on
	signature    []byte
}

// openProgram opens a file and its signature.
func openProgram(path string, signature []byte) (*program, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the new program: %w", err)
	}
	architecture, err := upgrade.ArchitectureOf(file)
	hash := sha256.New()
	if err == nil {
		_, err = io.Copy(hash, file)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("the new program %s: %w", path, err)
	}
	return &program{file, "sha256:" + hex.EncodeToString(hash.Sum(nil)), architecture, signature}, nil
}

// archive makes an image of the program: an OCI image layout with one layer, in a file without a name.
func (p *program) archive() (archive *os.File, size int64, err error) {
	if archive, err = unnamed(); err != nil {
		return nil, 0, err
	}
	layer, err := p.layer()
	if err == nil {
		defer layer.Close()
		err = writeLayout(archive, layer, ocispec.Platform{OS: "linux", Architecture: p.architecture})
	}
	if err == nil {
		size, err = archive.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		_, err = archive.Seek(0, io.SeekStart)
	}
	if err != nil {
		archive.Close()
		return nil, 0, fmt.Errorf("making an image of the new program: %w", err)
	}
	return archive, size, nil
}

// unnamed is a file that is gone with this process.
func unnamed() (*os.File, error) {
	file, err := os.CreateTemp("", "pinion-upgrade-*")
	if err != nil {
		return nil, err
	}
	return file, os.Remove(file.Name())
}

// layer is the archive of the one file.
func (p *program) layer() (*os.File, error) {
	info, err := p.file.Stat()
	if err != nil {
		return nil, err
	}
	layer, err := unnamed()
	if err != nil {
		return nil, err
	}
	out := tar.NewWriter(layer)
	err = out.WriteHeader(&tar.Header{Name: upgrade.ProgramFile, Mode: 0o755, Size: info.Size()})
	if err == nil {
		_, err = io.Copy(out, io.NewSectionReader(p.file, 0, info.Size()))
	}
	if err = errors.Join(err, out.Close()); err != nil {
		layer.Close()
		return nil, err
	}
	return layer, nil
}

// writeLayout writes an OCI image layout with one layer.
func writeLayout(to io.Writer, layer *os.File, platform ocispec.Platform) error {
	size, err := layer.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	whole := func() io.Reader { return io.NewSectionReader(layer, 0, size) }
	top, err := digest.FromReader(whole())
	if err != nil {
		return err
	}
	out := tar.NewWriter(to)
	put := func(name string, size int64, content io.Reader) {
		if err == nil {
			err = out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size})
		}
		if err == nil {
			_, err = io.Copy(out, content)
		}
	}
	document := func(kind string, v any) ocispec.Descriptor {
		text, marshalErr := json.Marshal(v)
		err = errors.Join(err, marshalErr)
		d := ocispec.Descriptor{MediaType: kind, Digest: digest.FromBytes(text), Size: int64(len(text))}
		put(blobName(d.Digest), d.Size, bytes.NewReader(text))
		return d
	}
	put(blobName(top), size, whole())
	config := document(ocispec.MediaTypeImageConfig, ocispec.Image{Platform: platform, RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{top}}})
	manifest := document(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: config,
		Layers: []ocispec.Descriptor{{MediaType: ocispec.MediaTypeImageLayer, Digest: top, Size: size}},
	})
	manifest.Platform = &platform
	for name, v := range map[string]any{
		ocispec.ImageIndexFile:  ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{manifest}},
		ocispec.ImageLayoutFile: ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion},
	} {
		text, marshalErr := json.Marshal(v)
		err = errors.Join(err, marshalErr)
		put(name, int64(len(text)), bytes.NewReader(text))
	}
	return errors.Join(err, out.Close())
}

// blobName is the path of a blob in a layout.
func blobName(d digest.Digest) string {
	return ocispec.ImageBlobsDir + "/" + d.Algorithm().String() + "/" + d.Encoded()
}
