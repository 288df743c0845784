package ctrd

import (
	"context"
	"fmt"
	"strings"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/distribution/reference"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// parallelDownloads is how many layers of one image are fetched at once.
const parallelDownloads = 4

// Pull makes an image present and unpacked. What is here is used when it cannot have changed: a digest, or a tag other
// than latest. For latest the registry is asked; when it cannot be reached, the one that is here is used and the log
// says so. Pulls of the same image at the same time are one pull.
func (r *Runtime) Pull(ctx context.Context, ref string, progress func(spec.Pull)) (runtime.Image, error) {
	ctx = r.inNamespace(ctx)
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return runtime.Image{}, fmt.Errorf("image %q: %w; write it as [registry/]repository[:tag]", ref, err)
	}
	name := named.String()
	if name == builtinName {
		return r.ensureBuiltin(ctx)
	}
	local, err := r.images.lookup(ctx, name)
	if err != nil {
		return runtime.Image{}, fmt.Errorf("image %s: %w", name, err)
	}
	if local != nil && !isMutableTag(named) {
		return toImage(*local), nil
	}
	pulled, err := r.pulls.join(ctx, name, progress, func(ctx context.Context, f *sharedPull) (runtime.Image, error) {
		return r.fetch(ctx, named, f)
	})
	if err != nil && local != nil && isUnreachable(err) {
		r.config.Log.Warn("the registry cannot be reached; using the image that is here", "image", name, "digest", local.Target.Digest, "error", err)
		return toImage(*local), nil
	}
	return pulled, err
}

func toImage(i images.Image) runtime.Image {
	return runtime.Image{Ref: i.Name, Digest: i.Target.Digest.String()}
}

// isMutableTag says whether the name may mean another image tomorrow: latest does by habit.
func isMutableTag(named reference.Named) bool {
	return strings.HasSuffix(named.String(), ":latest")
}

// fetch pulls from the registry.
func (r *Runtime) fetch(ctx context.Context, named reference.Named, f *sharedPull) (runtime.Image, error) {
	registry, err := r.registryFor(ctx, f)
	if err != nil {
		return runtime.Image{}, fmt.Errorf("image %s: %w", named, err)
	}
	resolver := docker.NewResolver(docker.ResolverOptions{Hosts: registry.hosts})
	pulled, err := r.client.Pull(ctx, named.String(),
		containerd.WithResolver(resolver),
		containerd.WithPullUnpack,
		containerd.WithPullSnapshotter(r.config.Snapshotter),
		containerd.WithMaxConcurrentDownloads(parallelDownloads),
		containerd.WithImageHandlerWrapper(f.watchContent(r.client.ContentStore())),
	)
	if err != nil {
		return runtime.Image{}, r.explainPull(ctx, named, resolver, err)
	}
	done := runtime.Image{Ref: named.String(), Digest: pulled.Target().Digest.String()}
	if err := r.images.pinDigest(ctx, done, pulled.Target()); err != nil {
		return runtime.Image{}, fmt.Errorf("image %s: %w", named, err)
	}
	_, err = r.images.add(ctx, pulled.Metadata())
	return done, err
}
