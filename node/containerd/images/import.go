package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/images/archive"
	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"pinion/node/runtime"
	"pinion/raftfsm/blob"
)

var (
	// ErrImporting refuses an archive while another one arrives.
	ErrImporting = errors.New("the host is reading another archive: try again when it is through")
	// ErrArchive is wrapped by the errors of archives that cannot be used.
	ErrArchive = errors.New("the archive cannot be imported")
)

// maxImported bounds the images of one archive.
const maxImported = 100

// Import reads an archive as `docker save` writes it, or of an OCI image layout, and gives its images the names that it has for them, or
// the one that is asked for. All of it is imported or nothing: no name of an archive means anything until all its blobs are here and are
// what their digests say. Errors of the archive itself wrap ErrArchive.
func Import(ctx context.Context, s *Store, from io.Reader, name string) (imported []blob.Image, err error) {
	if !s.importing.TryLock() {
		return nil, ErrImporting
	}
	defer s.importing.Unlock()
	if err := s.checkFloor(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, floorAdvice)
	}
	above, stop := s.aboveFloor(ctx)
	defer stop(nil)
	above, attempt, err := (&attempt{store: s}).hold(above)
	if err != nil {
		return nil, err
	}
	found, err := readArchive(above, s.config.Client.ContentStore(), from, name)
	if err == nil {
		imported, err = nameImages(above, s, found)
	}
	if full, is := errors.AsType[*floorError](context.Cause(above)); err != nil && is {
		err = fmt.Errorf("%w: %s", full, floorAdvice)
	}
	if err != nil {
		attempt.discard(ctx)
		return nil, err
	}
	attempt.end(ctx)
	for _, one := range found {
		for _, d := range one.blobs {
			s.blobPeer.MarkComplete(d)
		}
	}
	s.blobPeer.Named()
	return imported, nil
}

// named is an image of an archive under one name.
type named struct {
	name   string
	target ocispec.Descriptor
	blobs  []digest.Digest // that it consists of, itself too
}

// readArchive copies the blobs of an archive into the content store, and returns its images. Of a path in the archive nothing is made but
// a key in memory.
func readArchive(ctx context.Context, store content.Store, from io.Reader, name string) ([]named, error) {
	top, err := archive.ImportIndex(ctx, store, from)
	if err == nil {
		_, err = io.Copy(io.Discard, from) // the end of an archive is before that of what was sent, and only there it shows whether that is what was signed
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", ErrArchive, err)
	}
	if err != nil {
		return nil, err
	}
	if top.Size > maxManifest {
		return nil, fmt.Errorf("%w: its index has %d KiB", ErrArchive, top.Size>>10)
	}
	entries, err := images.Children(ctx, store, top)
	if err != nil {
		return nil, fmt.Errorf("%w: its index: %w", ErrArchive, err)
	}
	found, err := namesOf(entries, name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	for i := range found {
		if found[i].blobs, err = checkContent(ctx, store, found[i].target); err != nil {
			return nil, fmt.Errorf("%w: image %s: %w", ErrArchive, found[i].name, err)
		}
	}
	return found, nil
}

// namesOf are the images that the entries of an archive's index are, by their names or by the one that is asked for.
func namesOf(entries []ocispec.Descriptor, name string) (found []named, err error) {
	entries = slices.DeleteFunc(slices.Clone(entries), func(d ocispec.Descriptor) bool {
		return d.Platform != nil && d.Platform.OS == "unknown" // attestations
	})
	var digests []string
	for _, d := range entries {
		if !slices.Contains(digests, d.Digest.String()) {
			digests = append(digests, d.Digest.String())
		}
	}
	if name != "" {
		if len(digests) != 1 {
			return nil, fmt.Errorf("it has %d images, so that they cannot have the name %s", len(digests), name)
		}
		name, err = blob.NormalizeName(name)
		return []named{{name: name, target: entries[0]}}, err
	}
	for _, d := range entries {
		own := d.Annotations[images.AnnotationImageName]
		if own == "" {
			own = d.Annotations[ocispec.AnnotationRefName]
		}
		if own == "" || !strings.ContainsAny(own, ":/") { // the OCI image layout allows a tag alone
			return nil, errors.New("it says no name for an image: give it one with --name")
		}
		if own, err = blob.NormalizeName(own); err != nil {
			return nil, err
		}
		found = append(found, named{name: own, target: d})
	}
	if len(found) == 0 || len(found) > maxImported {
		return nil, fmt.Errorf("it has %d images; 1 to %d can be imported at a time", len(found), maxImported)
	}
	return found, nil
}

// checkContent refuses an image that cannot run on hosts of this platform, or that is not whole, and has containerd keep the blobs that it
// consists of, which it returns.
func checkContent(ctx context.Context, store content.Store, target ocispec.Descriptor) (blobs []digest.Digest, err error) {
	var limits documentLimits
	err = images.Walk(ctx, images.SetChildrenLabels(store, images.FilterPlatforms(func(ctx context.Context, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
		if err := limits.check(d); err != nil {
			return nil, err
		}
		info, err := store.Info(ctx, d.Digest)
		if err != nil {
			return nil, fmt.Errorf("blob %s is not in it: %w", d.Digest, err)
		}
		if info.Size != d.Size {
			return nil, fmt.Errorf("blob %s has %d bytes, not %d", d.Digest, info.Size, d.Size)
		}
		if err := share(ctx, store, d); err != nil {
			return nil, err
		}
		blobs = append(blobs, d.Digest)
		if isDocument(d) {
			if err := checkDocument(ctx, store, d); err != nil {
				return nil, err
			}
		}
		children, err := images.Children(ctx, store, d)
		if err == nil {
			err = limits.checkChildren(children)
		}
		if err == nil && images.IsConfigType(d.MediaType) {
			err = checkPlatform(ctx, store, d)
		}
		return children, err
	}, platforms.Default())), target)
	if err == nil {
		_, err = images.Manifest(ctx, store, target, platforms.Default())
	}
	return blobs, err
}

// nameImages gives images their names on this host.
func nameImages(ctx context.Context, s *Store, found []named) (all []blob.Image, err error) {
	for _, one := range found {
		i := runtime.Image{Ref: one.name, Digest: one.target.Digest.String()}
		stored := images.Image{Name: one.name, Target: one.target}
		if err := s.cache.pinDigest(ctx, i, stored); err != nil {
			return nil, err
		}
		if err := s.putImage(ctx, stored); err != nil {
			return nil, err
		}
		s.uses.touch(i.Digest)
		all = append(all, blob.Image{Name: one.name, Digest: i.Digest, Size: sizeOf(ctx, s, &imageGroup{target: one.target})})
	}
	return all, nil
}

// byDigest is the name of an image by its digest.
func byDigest(name, digest string) (string, error) {
	return pinnedName(runtime.Image{Ref: name, Digest: digest})
}
