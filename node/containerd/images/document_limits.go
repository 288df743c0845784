package images

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"pinion/packaging/jsonshape"
)

// Bounds of the parts of an image. Its documents are read into memory, and it is the registry that says how many there are.
const (
	maxDocument  = 4 << 20 // bytes of one configuration or token
	maxManifest  = 1 << 20 // bytes of one manifest or index
	maxElements  = 10_000  // of one of these as JSON; a manifest of maxLayers has some 2,000
	maxDocuments = 32      // manifests and indexes of one pull
	maxLayers    = 500     // overlayfs takes no more
	// maxDecoding bounds the documents that are decoded at once on this host, of all pulls.
	maxDecoding = 4
)

// errNoImage refuses an answer that is no image of a kind that can run here.
var errNoImage = errors.New("what it sent is no image that can be used")

// documentLimits holds one pull to the bounds.
type documentLimits struct{ documents atomic.Int32 }

// check is called with each part of the image before it is fetched, the manifest or index that the tag names first.
func (l *documentLimits) check(d ocispec.Descriptor) error {
	document := images.IsManifestType(d.MediaType) || images.IsIndexType(d.MediaType)
	switch n := l.documents.Load(); {
	case n == 0 && !document:
		return fmt.Errorf("%w: it is of type %q", errNoImage, d.MediaType)
	case document && l.documents.Add(1) > maxDocuments:
		return fmt.Errorf("%w: it has more than %d manifests and indexes, one in another", errNoImage, maxDocuments)
	case isDocument(d) && d.Size > maxDocument, document && d.Size > maxManifest:
		return fmt.Errorf("%w: its %s has %d KiB", errNoImage, d.MediaType, d.Size>>10)
	}
	return nil
}

// checkChildren is called with the parts that a document names. Layers come from the image's registry only: a manifest may name
// any address for them, which this host can perhaps reach and its author cannot.
func (l *documentLimits) checkChildren(children []ocispec.Descriptor) error {
	layers := 0
	for i := range children {
		children[i].URLs = nil
		if images.IsLayerType(children[i].MediaType) {
			layers++
		}
	}
	if layers > maxLayers {
		return fmt.Errorf("%w: it has %d layers, and %d is the most", errNoImage, layers, maxLayers)
	}
	return nil
}

// isDocument reports whether a part of an image is decoded: containerd takes whatever is no layer for a manifest, an index or a configuration.
func isDocument(d ocispec.Descriptor) bool { return !images.IsLayerType(d.MediaType) }

// checkDocument refuses a document that is here before it is decoded, if it is not what it says or stands for more than any image needs. What has its
// digest may be a layer of any size.
func checkDocument(ctx context.Context, store content.Store, d ocispec.Descriptor) error {
	info, err := store.Info(ctx, d.Digest)
	if err != nil {
		return err
	}
	if info.Size != d.Size {
		return fmt.Errorf("%w: its %s has %d bytes, not %d", errNoImage, d.MediaType, info.Size, d.Size)
	}
	text, err := content.ReadBlob(ctx, store, d)
	if err != nil {
		return err
	}
	return checkElements(d.MediaType, text)
}

// checkElements is checkDocument for the text of a document.
func checkElements(mediaType string, text []byte) error {
	if err := jsonshape.Check(text, maxElements); err != nil {
		return fmt.Errorf("%w: its %s: %w", errNoImage, mediaType, err)
	}
	return nil
}

// handleDocument fetches a document, and has it decoded once it is known to be one: few at a time, whoever asks. No registry sets the pace of those.
func handleDocument(ctx context.Context, s *Store, next images.Handler, from poolResolver, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	store := s.config.Client.ContentStore()
	fetcher, err := from.Fetcher(ctx, from.named.String())
	if err != nil {
		return nil, err
	}
	if _, err := remotes.FetchHandler(store, fetcher)(ctx, d); err != nil {
		return nil, err
	}
	if err := s.decoding.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.decoding.Release(1)
	if err := checkDocument(ctx, store, d); err != nil {
		return nil, err
	}
	return next.Handle(ctx, d)
}
