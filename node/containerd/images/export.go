package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/images/archive"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/platforms"
	"github.com/distribution/reference"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	containerd "github.com/containerd/containerd/v2/client"

	"pinion/raftfsm/spec"
)

// Export writes an image as an archive that `docker load` and Import read: an OCI image layout for this host's platform. An image that is
// not here comes from other hosts first.
func Export(ctx context.Context, s *Store, name, digest string, to io.Writer) error {
	target, err := ensure(ctx, s, name, digest, nil)
	if err != nil {
		return err
	}
	return archive.Export(ctx, s.config.Client.ContentStore(), to, archive.WithManifest(target, name), archive.WithPlatform(platforms.Default()))
}

// Push sends an image to a registry, under another name perhaps, with the login that this host has for it. Of an image for several
// platforms of which this host has one, that one alone is sent: then whole is false.
func Push(ctx context.Context, s *Store, name, digest, to string, progress func(spec.Pull)) (whole bool, err error) {
	ref, err := reference.ParseDockerRef(to)
	if err != nil {
		return false, fmt.Errorf("image %q: %w; write it as [registry/]repository[:tag]", to, err)
	}
	target, err := ensure(ctx, s, name, digest, progress)
	if err != nil {
		return false, err
	}
	store := s.config.Client.ContentStore()
	available, _, _, missing, err := images.Check(ctx, store, target, platforms.All)
	if err != nil {
		return false, err
	}
	if whole = available && len(missing) == 0; !whole {
		if target, err = manifestOf(ctx, s, target); err != nil {
			return false, err
		}
	}
	registry, err := s.registryFor(ctx, &sharedPull{}, reference.Domain(ref))
	if err != nil {
		return false, fmt.Errorf("image %s: %w", ref, err)
	}
	if err := s.config.Client.Push(ctx, ref.String(), target, containerd.WithResolver(docker.NewResolver(docker.ResolverOptions{Hosts: registry.hosts}))); err != nil {
		return false, fmt.Errorf("push image %s: %w", ref, err)
	}
	return whole, nil
}

// ensure returns an image of this host by its digest; one that is not here is pulled.
func ensure(ctx context.Context, s *Store, name, digest string, progress func(spec.Pull)) (ocispec.Descriptor, error) {
	pinned, err := byDigest(name, digest)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if here, err := s.config.Client.ImageService().Get(ctx, pinned); err == nil {
		whole, _, _, _, err := images.Check(ctx, s.config.Client.ContentStore(), here.Target, platforms.Default())
		if err == nil && whole {
			return here.Target, nil
		}
	}
	if _, err := s.Pull(ctx, pinned, progress); err != nil {
		return ocispec.Descriptor{}, err
	}
	stored, err := s.config.Client.ImageService().Get(ctx, pinned)
	return stored.Target, err
}

// errNoManifest is the error of an index without a manifest for this host.
var errNoManifest = errors.New("the image has no manifest for this host's platform")

// manifestOf is the manifest of an image for this host's platform.
func manifestOf(ctx context.Context, s *Store, target ocispec.Descriptor) (ocispec.Descriptor, error) {
	store := s.config.Client.ContentStore()
	children, err := images.Children(ctx, store, target)
	if err != nil {
		return target, err
	}
	i := slices.IndexFunc(children, func(d ocispec.Descriptor) bool {
		return d.Platform != nil && platforms.Default().Match(*d.Platform)
	})
	if i < 0 {
		return target, errNoManifest
	}
	return children[i], nil
}
