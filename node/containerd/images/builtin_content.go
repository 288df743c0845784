package images

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// writeBuiltin writes layer, configuration and manifest into the content store.
func writeBuiltin(ctx context.Context, store content.Store, binary string) (ocispec.Descriptor, error) {
	layer, err := writeLayer(ctx, store, binary)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	config, err := writeDocument(ctx, store, ocispec.MediaTypeImageConfig, nil, ocispec.Image{
		Platform: ocispec.Platform{Architecture: runtime.GOARCH, OS: "linux"},
		Config: ocispec.ImageConfig{
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/"},
			Cmd: []string{"/pinion", "gpus", "--container"},
		},
		RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{layer.Digest}},
	})
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return writeDocument(ctx, store, ocispec.MediaTypeImageManifest, map[string]string{
		"containerd.io/gc.ref.content.config": config.Digest.String(),
		"containerd.io/gc.ref.content.l.0":    layer.Digest.String(),
	}, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageManifest,
		Config:    config,
		Layers:    []ocispec.Descriptor{layer},
	})
}

func writeDocument(ctx context.Context, store content.Store, mediaType string, labels map[string]string, document any) (ocispec.Descriptor, error) {
	raw, err := json.Marshal(document)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	return d, content.WriteBlob(ctx, store, "pinion-self-"+d.Digest.String(), bytes.NewReader(raw), d, content.WithLabels(labels))
}

// writeLayer streams the file system as an uncompressed archive, because only this host reads it.
func writeLayer(ctx context.Context, store content.Store, binary string) (ocispec.Descriptor, error) {
	writer, err := content.OpenWriter(ctx, store, content.WithRef("pinion-self-layer"))
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	defer writer.Close()
	if err := writer.Truncate(0); err != nil { // discards the data of an interrupted attempt
		return ocispec.Descriptor{}, err
	}
	counted := &countingWriter{next: writer, hash: digest.Canonical.Digester()}
	buffered := bufio.NewWriterSize(counted, 1<<20) // one message to the daemon for each buffer
	if err := archiveBuiltin(buffered, binary); err != nil {
		return ocispec.Descriptor{}, err
	}
	if err := buffered.Flush(); err != nil {
		return ocispec.Descriptor{}, err
	}
	layer := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayer, Digest: counted.hash.Digest(), Size: counted.size}
	err = writer.Commit(ctx, layer.Size, layer.Digest, content.WithLabels(map[string]string{
		"containerd.io/uncompressed": layer.Digest.String(),
	}))
	if err != nil && !errdefs.IsAlreadyExists(err) {
		return ocispec.Descriptor{}, err
	}
	return layer, nil
}

type countingWriter struct {
	next io.Writer
	hash digest.Digester
	size int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.next.Write(p)
	w.hash.Hash().Write(p[:n])
	w.size += int64(n)
	return n, err
}

// archiveBuiltin writes the files of the image. Their times are fixed, so the same binary gives the same image.
func archiveBuiltin(out io.Writer, binary string) error {
	archive := tar.NewWriter(out)
	for _, dir := range []struct {
		name string
		mode int64
	}{{"bin/", 0o755}, {"etc/", 0o755}, {"tmp/", 0o1777}} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir.name, Mode: dir.mode, ModTime: time.Unix(0, 0)}); err != nil {
			return err
		}
	}
	for _, file := range []struct{ name, text string }{
		{"etc/passwd", "root:x:0:0:root:/:/pinion\nnobody:x:65534:65534:nobody:/:/pinion\n"},
		{"etc/group", "root:x:0:\nnogroup:x:65534:\n"},
	} {
		if err := archiveFile(archive, file.name, 0o644, strings.NewReader(file.text), int64(len(file.text))); err != nil {
			return err
		}
	}
	f, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := archiveFile(archive, "pinion", 0o755, f, info.Size()); err != nil {
		return err
	}
	link := &tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/pinion", Linkname: "../pinion", Mode: 0o777, ModTime: time.Unix(0, 0)}
	return errors.Join(archive.WriteHeader(link), archive.Close())
}

func archiveFile(archive *tar.Writer, name string, mode int64, r io.Reader, size int64) error {
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: size, ModTime: time.Unix(0, 0)}); err != nil {
		return err
	}
	_, err := io.Copy(archive, r)
	return err
}
