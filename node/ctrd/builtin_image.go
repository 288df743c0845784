package ctrd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"

	"pinion/node/runtime"
)

const (
	// builtinName is the image made of the running binary, so that a first task needs no registry.
	builtinName = "docker.io/pinion/self:latest"
	// labelBinary says which binary the image was made of.
	labelBinary = "pinion.binary"
)

// builtinImage makes the built-in image at its first use. Callers wait for one another, so that it is made once.
type builtinImage struct {
	path string

	mu      sync.Mutex
	created *runtime.Image // by this process
}

// ensureBuiltin answers the built-in image; it is made anew when the binary is another one.
func (r *Runtime) ensureBuiltin(ctx context.Context) (runtime.Image, error) {
	r.builtin.mu.Lock()
	defer r.builtin.mu.Unlock()
	if r.builtin.created != nil && r.images.get(r.builtin.created.Digest) != nil {
		return *r.builtin.created, nil
	}
	if r.builtin.path == "" {
		return runtime.Image{}, errors.New("image pinion/self: this host has not been told where the pinion binary is")
	}
	made, err := r.createBuiltin(ctx)
	if err != nil {
		return runtime.Image{}, fmt.Errorf("image pinion/self: %w", err)
	}
	r.builtin.created = &made
	return made, nil
}

func (r *Runtime) createBuiltin(ctx context.Context) (runtime.Image, error) {
	binary, err := fileDigest(r.builtin.path)
	if err != nil {
		return runtime.Image{}, err
	}
	if local, err := r.images.lookup(ctx, builtinName); err != nil {
		return runtime.Image{}, err
	} else if local != nil && local.Labels[labelBinary] == binary {
		return toImage(*local), nil
	}
	ctx, release, err := r.client.WithLease(ctx)
	if err != nil {
		return runtime.Image{}, err
	}
	defer release(context.WithoutCancel(ctx))
	target, err := writeBuiltin(ctx, r.client.ContentStore(), r.builtin.path)
	if err != nil {
		return runtime.Image{}, err
	}
	stored := images.Image{Name: builtinName, Target: target, Labels: map[string]string{labelBinary: binary}}
	if err := r.putImage(ctx, stored); err != nil {
		return runtime.Image{}, err
	}
	if err := containerd.NewImage(r.client, stored).Unpack(ctx, r.config.Snapshotter); err != nil {
		return runtime.Image{}, err
	}
	made := toImage(stored)
	if err := r.images.pinDigest(ctx, made, target); err != nil {
		return runtime.Image{}, err
	}
	_, err = r.images.add(ctx, stored)
	return made, err
}

func (r *Runtime) putImage(ctx context.Context, i images.Image) error {
	_, err := r.client.ImageService().Create(ctx, i)
	if errdefs.IsAlreadyExists(err) {
		_, err = r.client.ImageService().Update(ctx, i)
	}
	return err
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}
