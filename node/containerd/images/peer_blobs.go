package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"pinion/node/distribution"
	"pinion/node/runtime"
	"pinion/raftfsm/blob"
)

// restarts bounds how often a blob is fetched anew that another host gave wrong bytes of.
const restarts = 3

// storedBlobs is the blobs of this host's images, for other hosts.
type storedBlobs struct {
	content   func() content.Store
	namespace func(context.Context) context.Context // a context with the namespace of the images
	list      func(context.Context) ([]blob.Image, error)
}

func newStoredBlobs(s *Store) storedBlobs {
	list := func(ctx context.Context) ([]blob.Image, error) { return List(ctx, s) }
	return storedBlobs{s.config.Client.ContentStore, s.config.Namespace, list}
}

// Images lists the images of this host.
func (s storedBlobs) Images(ctx context.Context) ([]blob.Image, error) {
	return s.list(s.namespace(ctx))
}

// Digests lists the blobs that other hosts may have.
func (s storedBlobs) Digests(ctx context.Context) (all []digest.Digest, err error) {
	err = s.content().Walk(s.namespace(ctx), func(i content.Info) error {
		if isForOtherHosts(i) {
			all = append(all, i.Digest)
		}
		return nil
	})
	return all, err
}

// ReaderAt opens a blob.
func (s storedBlobs) ReaderAt(ctx context.Context, d digest.Digest) (distribution.ReaderAt, int64, error) {
	ctx = s.namespace(ctx)
	info, err := s.content().Info(ctx, d)
	if err == nil && !isForOtherHosts(info) {
		err = fmt.Errorf("it came by the credentials of a task: %w", errdefs.ErrNotFound)
	}
	var from content.ReaderAt
	if err == nil {
		from, err = s.content().ReaderAt(ctx, ocispec.Descriptor{Digest: d})
	}
	if errdefs.IsNotFound(err) {
		err = fmt.Errorf("%w: %w", blob.ErrNotHere, err)
	}
	if err != nil {
		return nil, 0, err
	}
	return from, from.Size(), nil
}

// poolResolver has the blobs of an image come from other hosts of the pool too.
type poolResolver struct {
	remotes.Resolver // of the registry, which alone says what a name means
	blobPeer         *distribution.BlobPeer
	hosts            docker.RegistryHosts
	named            reference.Named
	private          bool // it asks with the credentials of a task
	received         func(int64)
}

// Resolve resolves a name as the registry does, and a digest by any host of the pool, except for a task with its own credentials: whether those are
// let have the image the registry says alone.
func (r poolResolver) Resolve(ctx context.Context, ref string) (string, ocispec.Descriptor, error) {
	if digested, ok := r.named.(reference.Digested); ok && ref == r.named.String() && !r.private {
		if text, err := r.blobPeer.Document(ctx, digested.Digest(), maxManifest); err == nil && checkElements("manifest", text) == nil {
			return ref, ocispec.Descriptor{MediaType: mediaTypeOf(text), Digest: digested.Digest(), Size: int64(len(text))}, nil
		}
	}
	return r.Resolver.Resolve(ctx, ref)
}

// mediaTypeOf is the media type of a manifest or an index: the OCI image specification lets both leave it out.
func mediaTypeOf(document []byte) string {
	var said struct {
		MediaType string            `json:"mediaType"`
		Manifests []json.RawMessage `json:"manifests"`
	}
	_ = json.Unmarshal(document, &said) // what is no document is refused where it is read
	switch {
	case said.MediaType != "":
		return said.MediaType
	case said.Manifests != nil:
		return ocispec.MediaTypeImageIndex
	}
	return ocispec.MediaTypeImageManifest
}

// Fetcher is the registry's fetcher, for blobs that no host has and blobs that are not for other hosts.
func (r poolResolver) Fetcher(ctx context.Context, ref string) (remotes.Fetcher, error) {
	registry, err := r.Resolver.Fetcher(ctx, ref)
	return remotes.FetcherFunc(func(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
		if !d.Digest.Algorithm().Available() || r.private && d.Size <= maxDocument {
			return registry.Fetch(ctx, d)
		}
		return r.blobPeer.Fetch(ctx, d.Digest, d.Size, registryBlob{registry, r.hosts, r.named, d}, r.received)
	}), err
}

// letIn refuses a document that is here by the credentials of a task alone, unless the registry of this pull gives it: containerd asks no
// registry for what it has, under whatever name.
func (r poolResolver) letIn(ctx context.Context, store content.Store, d ocispec.Descriptor) error {
	info, err := store.Info(ctx, d.Digest)
	if errdefs.IsNotFound(err) || err == nil && isForOtherHosts(info) {
		return nil
	}
	if err != nil {
		return err
	}
	registry, err := r.Resolver.Fetcher(ctx, r.named.String())
	if err != nil {
		return err
	}
	body, err := registry.Fetch(ctx, d)
	if err != nil {
		return err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxDocument+1))
	if err == nil && d.Digest.Algorithm().FromBytes(text) != d.Digest {
		err = fmt.Errorf("blob %s: the registry gives another one", d.Digest)
	}
	return err
}

const (
	// abortTries and abortPause bound the wait for containerd, which may still be closing what is to be removed.
	abortTries = 20
	abortPause = 50 * time.Millisecond
)

// abort removes the part that containerd has of an unfinished blob.
func abort(ctx context.Context, store content.Store, d ocispec.Descriptor) (err error) {
	for range abortTries {
		if err = store.Abort(ctx, remotes.MakeRefKey(ctx, d)); err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(abortPause):
		}
	}
	return err
}

// exchanged wraps the handler that fetches the blobs of an image: those that were wrong are fetched anew, those that are whole are for
// other hosts.
func (s *Store) exchanged(next images.Handler, from poolResolver, login *runtime.RegistryLogin) images.Handler {
	return images.HandlerFunc(func(ctx context.Context, d ocispec.Descriptor) (children []ocispec.Descriptor, err error) {
		if err := from.letIn(ctx, s.config.Client.ContentStore(), d); err != nil {
			return nil, err
		}
		handle := next.Handle
		if isDocument(d) {
			handle = func(ctx context.Context, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
				return handleDocument(ctx, s, next, from, d)
			}
		}
		for range restarts {
			if children, err = handle(ctx, d); !errors.Is(err, distribution.ErrRestart) {
				break
			}
			if abortErr := abort(ctx, s.config.Client.ContentStore(), d); abortErr != nil {
				return nil, errors.Join(err, abortErr)
			}
		}
		if err != nil {
			return nil, err
		}
		if d.Size > maxDocument {
			s.blobPeer.MarkComplete(d.Digest)
		} else if login == nil {
			if err := share(ctx, s.config.Client.ContentStore(), d); err != nil {
				return nil, err
			}
			s.blobPeer.MarkComplete(d.Digest)
		}
		return children, nil
	})
}
