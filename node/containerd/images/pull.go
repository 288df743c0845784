package images

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	remoteerrors "github.com/containerd/containerd/v2/core/remotes/errors"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"golang.org/x/sync/semaphore"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

const (
	// parallelDownloads bounds the concurrent layer downloads of one image.
	parallelDownloads = 4
	// parallelUnpacks bounds the layers of one image that are unpacked at a time, where the snapshotter can.
	parallelUnpacks = 4
)

const (
	// pullAttempts bounds the attempts of a pull that loses its daemon.
	pullAttempts = 5
	// daemonTimeout bounds the wait for the next daemon.
	daemonTimeout = 30 * time.Second
)

// Pull makes an image present and unpacked. A local image is used when it cannot have changed: by digest, or by a tag other
// than latest. For latest the registry is asked; when it cannot be reached, the local image is used and a warning is
// logged. Without a local one it may be that of other hosts, see pullResolvedTag. Concurrent pulls of one image are one pull.
func (s *Store) Pull(ctx context.Context, ref string, progress func(spec.Pull)) (runtime.Image, error) {
	for attempt := 1; ; attempt++ {
		image, err := s.tryPull(ctx, ref, progress)
		if !isDaemonLost(err) || attempt == pullAttempts || ctx.Err() != nil {
			return image, err
		}
		s.config.Log.Warn("containerd went away during a pull; trying again", "image", ref, "error", err)
		s.waitDaemon(ctx)
	}
}

func (s *Store) tryPull(ctx context.Context, ref string, progress func(spec.Pull)) (runtime.Image, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return runtime.Image{}, fmt.Errorf("image %q: %w; write it as [registry/]repository[:tag]", ref, err)
	}
	name := named.String()
	if name == builtinName {
		return s.pullBuiltin(ctx)
	}
	local, err := s.lookup(ctx, name)
	if err != nil {
		return runtime.Image{}, fmt.Errorf("image %s: %w", name, err)
	}
	var login *runtime.RegistryLogin
	if given, ok := runtime.RegistryLoginOf(ctx); ok {
		login = &given
	}
	mayUse := !isPrivate(local) || login != nil && s.private.has(name, login)
	if local != nil && mayUse && !isMutableTag(named) {
		return toImage(*local), nil
	}
	pulled, err := s.pulls.join(ctx, name, login, progress, func(ctx context.Context, f *sharedPull) (runtime.Image, error) {
		return s.fetch(ctx, named, f)
	})
	if err == nil && login != nil {
		s.private.add(name, login)
	}
	if err != nil && local != nil && mayUse && isUnreachable(err) {
		s.config.Log.Warn("the registry cannot be reached; using the image that is here", "image", name, "digest", local.Target.Digest, "error", err)
		return toImage(*local), nil
	}
	if err != nil && local == nil && login == nil && !isDigested(named) && isUnreachable(err) {
		return pullResolvedTag(ctx, s, named, progress, err)
	}
	return pulled, err
}

// isDaemonLost reports whether a call to containerd broke off because the daemon died. What a registry answers is no such error.
func isDaemonLost(err error) bool {
	_, answered := errors.AsType[remoteerrors.ErrUnexpectedStatus](err)
	return errdefs.IsUnavailable(err) && !answered
}

// waitDaemon waits for the next daemon: ours is started again by its supervisor.
func (s *Store) waitDaemon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	if _, err := s.config.Client.IsServing(ctx); err != nil {
		s.config.Log.Warn("containerd is not back", "error", err)
	}
}

func (s *Store) pullBuiltin(ctx context.Context) (runtime.Image, error) {
	s.removal.RLock()
	defer s.removal.RUnlock()
	image, err := s.ensureBuiltin(ctx)
	if err == nil {
		s.uses.touch(image.Digest)
	}
	return image, err
}

// lookup returns a local image and records its use in the same step, so that Prune does not remove it in between.
func (s *Store) lookup(ctx context.Context, name string) (*images.Image, error) {
	s.removal.RLock()
	defer s.removal.RUnlock()
	local, err := s.cache.lookup(ctx, name)
	if local != nil {
		s.uses.touch(local.Target.Digest.String())
	}
	return local, err
}

func toImage(i images.Image) runtime.Image {
	return runtime.Image{Ref: i.Name, Digest: i.Target.Digest.String()}
}

// isMutableTag reports whether the tag is expected to move: by convention, latest.
func isMutableTag(named reference.Named) bool {
	return strings.HasSuffix(named.String(), ":latest")
}

// fetch pulls from the registry, all or nothing. A pull that went on with what an earlier process had left and failed begins anew:
// registries may know no ranges, and disks lose bytes.
func (s *Store) fetch(ctx context.Context, named reference.Named, f *sharedPull) (runtime.Image, error) {
	image, leftovers, err := s.fetchOnce(ctx, named, f)
	if err != nil && leftovers && ctx.Err() == nil {
		s.config.Log.Warn("a pull that went on with what an earlier one had left has failed; it begins anew", "image", named.String(), "error", err)
		image, _, err = s.fetchOnce(ctx, named, f)
	}
	return image, err
}

// fetchOnce pulls once. Leftovers reports that it has failed and removed what earlier processes had left.
func (s *Store) fetchOnce(ctx context.Context, named reference.Named, f *sharedPull) (image runtime.Image, leftovers bool, err error) {
	registry, err := s.registryFor(ctx, f, reference.Domain(named))
	if err != nil {
		return image, false, fmt.Errorf("image %s: %w", named, err)
	}
	resolver := docker.NewResolver(docker.ResolverOptions{Hosts: registry.hosts})
	if err := s.checkFloor(); err != nil {
		return image, false, s.explainPull(ctx, named, resolver, err)
	}
	ctx, attempt, err := s.begin(ctx, named.String())
	if err != nil {
		return image, false, fmt.Errorf("image %s: %w", named, err)
	}
	shared := poolResolver{resolver, s.blobPeer, registry.hosts, named, f.login != nil, func(n int64) { f.received.Add(n) }}
	if image, err = s.fetchInto(ctx, named, shared, f); err != nil {
		return image, attempt.discard(ctx), err
	}
	attempt.end(ctx)
	return image, false, nil
}

func (s *Store) fetchInto(ctx context.Context, named reference.Named, resolver poolResolver, f *sharedPull) (runtime.Image, error) {
	above, stop := s.aboveFloor(ctx)
	defer stop(nil)
	pulled, err := s.config.Client.Pull(above, named.String(),
		containerd.WithResolver(resolver),
		containerd.WithPullUnpack,
		containerd.WithPullSnapshotter(s.config.Snapshotter),
		containerd.WithPullLabels(pullLabels(named, f.login)),
		containerd.WithMaxConcurrentDownloads(parallelDownloads),
		containerd.WithUnpackOpts([]containerd.UnpackOpt{containerd.WithUnpackLimiter(semaphore.NewWeighted(parallelUnpacks))}),
		containerd.WithImageHandlerWrapper(func(next images.Handler) images.Handler {
			return f.watchContent(s.config.Client.ContentStore())(s.exchanged(next, resolver, f.login))
		}),
	)
	if err != nil {
		if full, ok := errors.AsType[*floorError](context.Cause(above)); ok {
			err = full
		}
		return runtime.Image{}, s.explainPull(ctx, named, resolver.Resolver, err)
	}
	done := runtime.Image{Ref: named.String(), Digest: pulled.Target().Digest.String()}
	if err := s.cache.pinDigest(ctx, done, pulled.Metadata()); err != nil {
		return runtime.Image{}, fmt.Errorf("image %s: %w", named, err)
	}
	s.uses.touch(done.Digest)
	s.blobPeer.Named()
	_, err = s.cache.add(ctx, pulled.Metadata())
	return done, err
}
