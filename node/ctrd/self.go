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

	"pinion/node"
)

const (
	// selfName is the image made of the running binary, so that a first task needs no registry.
	selfName = "docker.io/pinion/self:latest"
	// labelBinary says which binary the image was made of.
	labelBinary = "pinion.binary"
)

// selfImage makes the built-in image at its first use. Callers wait for one another, so that it is made once.
type selfImage struct {
	path string

	mu   sync.Mutex
	made *node.Image // by this process
}

// ensureSelf answers the built-in image; it is made anew when the binary is another one.
func (r *Runtime) ensureSelf(ctx context.Context) (node.Image, error) {
	r.self.mu.Lock()
	defer r.self.mu.Unlock()
	if r.self.made != nil && r.images.get(r.self.made.Digest) != nil {
		return *r.self.made, nil
	}
	if r.self.path == "" {
		return node.Image{}, errors.New("image pinion/self: this host has not been told where the pinion binary is")
	}
	made, err := r.makeSelf(ctx)
	if err != nil {
		return node.Image{}, fmt.Errorf("image pinion/self: %w", err)
	}
	r.self.made = &made
	return made, nil
}

func (r *Runtime) makeSelf(ctx context.Context) (node.Image, error) {
	binary, err := fileDigest(r.self.path)
	if err != nil {
		return node.Image{}, err
	}
	if local, err := r.images.present(ctx, selfName); err != nil {
		return node.Image{}, err
	} else if local != nil && local.Labels[labelBinary] == binary {
		return ready(*local), nil
	}
	ctx, release, err := r.client.WithLease(ctx)
	if err != nil {
		return node.Image{}, err
	}
	defer release(context.WithoutCancel(ctx))
	target, err := writeSelf(ctx, r.client.ContentStore(), r.self.path)
	if err != nil {
		return node.Image{}, err
	}
	stored := images.Image{Name: selfName, Target: target, Labels: map[string]string{labelBinary: binary}}
	if err := r.keepImage(ctx, stored); err != nil {
		return node.Image{}, err
	}
	if err := containerd.NewImage(r.client, stored).Unpack(ctx, r.config.Snapshotter); err != nil {
		return node.Image{}, err
	}
	made := ready(stored)
	if err := r.images.pin(ctx, made, target); err != nil {
		return node.Image{}, err
	}
	_, err = r.images.add(ctx, stored)
	return made, err
}

func (r *Runtime) keepImage(ctx context.Context, i images.Image) error {
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
