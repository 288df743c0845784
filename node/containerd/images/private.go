package images

import (
	"context"
	"crypto/sha256"
	"sync"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"pinion/node/runtime"
)

// labelPrivate is on images that the credentials of a task have brought here. Who else asks for one has to be let in by its registry.
const labelPrivate = "pinion.private"

// isPrivate reports whether a local image came by the credentials of a task.
func isPrivate(i *images.Image) bool { return i != nil && i.Labels[labelPrivate] != "" }

// privateLabels are the labels of an image that is pulled: with the credentials of a task, or with those of the host.
func privateLabels(login *runtime.RegistryLogin) map[string]string {
	if login == nil {
		return nil
	}
	return map[string]string{labelPrivate: "true"}
}

// labelShared is on the small blobs of images that a pull without credentials of a task has fetched, or found here and was let have.
const labelShared = "pinion.shared"

// isForOtherHosts reports whether another host gets a blob that it knows the digest of. Who knows the manifest of an image has the image, so what is small
// enough for one is not given when the credentials of a task alone have brought it. Larger blobs are of no use without.
func isForOtherHosts(i content.Info) bool { return i.Size > maxDocument || i.Labels[labelShared] != "" }

// share says of a blob that it is for other hosts.
func share(ctx context.Context, store content.Store, d ocispec.Descriptor) error {
	info, err := store.Info(ctx, d.Digest)
	if err != nil || isForOtherHosts(info) {
		return err
	}
	_, err = store.Update(ctx, content.Info{Digest: d.Digest, Labels: map[string]string{labelShared: "true"}}, "labels."+labelShared)
	return err
}

// maxAdmitted bounds the remembered pairs of credentials and image.
const maxAdmitted = 4096

// verifiedCredentials caches which credentials a registry accepted for which image, for the life of the process. It stores only a SHA-256 of both.
type verifiedCredentials struct {
	mu   sync.Mutex
	sums map[[sha256.Size]byte]bool
}

func credentialsSum(name string, login *runtime.RegistryLogin) [sha256.Size]byte {
	if login == nil {
		return sha256.Sum256([]byte(name))
	}
	user, password := sha256.Sum256([]byte(login.Username)), sha256.Sum256([]byte(login.Password))
	return sha256.Sum256([]byte(name + "\x00" + string(user[:]) + string(password[:])))
}

// has reports whether the credentials, or the host without any, were let have the image.
func (a *verifiedCredentials) has(name string, login *runtime.RegistryLogin) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sums[credentialsSum(name, login)]
}

func (a *verifiedCredentials) add(name string, login *runtime.RegistryLogin) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sums == nil || len(a.sums) >= maxAdmitted {
		a.sums = map[[sha256.Size]byte]bool{} // the registry is asked again
	}
	a.sums[credentialsSum(name, login)] = true
}
