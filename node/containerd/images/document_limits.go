package images

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/containerd/containerd/v2/core/images"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Bounds of the parts of an image. Its documents are read into memory, and it is the registry that says how many there are.
const (
	maxDocument  = 4 << 20 // bytes of one manifest, index, configuration or token
	maxDocuments = 32      // manifests and indexes of one pull
	maxLayers    = 500     // overlayfs takes no more
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
	case (document || images.IsConfigType(d.MediaType)) && d.Size > maxDocument:
		return fmt.Errorf("%w: its %s has %d MiB", errNoImage, d.MediaType, d.Size>>20)
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
