package containerd

import (
	"context"
	"io"

	"pinion/node/containerd/images"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
)

// ImageAdmin is the administration of the images of one host, beside what its tasks need of them.
type ImageAdmin struct {
	store     *images.Store
	namespace func(context.Context) context.Context // a context with the namespace of the images
}

// NewImageAdmin returns the administration of the images of a runtime.
func NewImageAdmin(r *Runtime) ImageAdmin { return ImageAdmin{r.images, r.inNamespace} }

// Pull makes an image present and unpacked, as for a task.
func (a ImageAdmin) Pull(ctx context.Context, ref string, progress func(spec.Pull)) (blob.Image, error) {
	pulled, err := a.store.Pull(a.namespace(ctx), ref, progress)
	return blob.Image{Name: pulled.Ref, Digest: pulled.Digest}, err
}

// Import is images.Import.
func (a ImageAdmin) Import(ctx context.Context, archive io.Reader, name string) ([]blob.Image, error) {
	return images.Import(a.namespace(ctx), a.store, archive, name)
}

// Export is images.Export.
func (a ImageAdmin) Export(ctx context.Context, name, digest string, to io.Writer) error {
	return images.Export(a.namespace(ctx), a.store, name, digest, to)
}

// File is images.File.
func (a ImageAdmin) File(ctx context.Context, name, digest, file string, to io.Writer) error {
	return images.File(a.namespace(ctx), a.store, name, digest, file, to)
}

// Push is images.Push.
func (a ImageAdmin) Push(ctx context.Context, name, digest, to string, progress func(spec.Pull)) (whole bool, err error) {
	return images.Push(a.namespace(ctx), a.store, name, digest, to, progress)
}

// Remove is images.Remove.
func (a ImageAdmin) Remove(ctx context.Context, digest string) error {
	return images.Remove(a.namespace(ctx), a.store, digest)
}

// Prune is images.PruneAll.
func (a ImageAdmin) Prune(ctx context.Context, dryRun bool) ([]blob.Image, error) {
	return images.PruneAll(a.namespace(ctx), a.store, dryRun)
}
