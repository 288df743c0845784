package images

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
	// builtinName is the name of an image made of the running binary. With it a first task needs no registry.
	builtinName = "docker.io/pinion/self:latest"
	// labelBinary identifies the binary in the image.
	labelBinary = "pinion.binary"
)

// builtinImage creates the built-in image at its first use. Callers wait for each other, so it is created once.
type builtinImage struct {
	path string

	mu      sync.Mutex
	created *runtime.Image // by this process
}

// ensureBuiltin returns the built-in image, and creates it again when the binary has changed.
func (s *Store) ensureBuiltin(ctx context.Context) (runtime.Image, error) {
	s.builtin.mu.Lock()
	defer s.builtin.mu.Unlock()
	if s.builtin.created != nil && s.cache.get(s.builtin.created.Digest) != nil {
		return *s.builtin.created, nil
	}
	if s.builtin.path == "" {
		return runtime.Image{}, errors.New("image pinion/self: this host has not been told where the pinion binary is")
	}
	made, err := s.createBuiltin(ctx)
	if err != nil {
		return runtime.Image{}, fmt.Errorf("image pinion/self: %w", err)
	}
	s.builtin.created = &made
	return made, nil
}

func (s *Store) createBuiltin(ctx context.Context) (runtime.Image, error) {
	binary, err := fileDigest(s.builtin.path)
	if err != nil {
		return runtime.Image{}, err
	}
	if local, err := s.cache.lookup(ctx, builtinName); err != nil {
		return runtime.Image{}, err
	} else if local != nil && local.Labels[labelBinary] == binary {
		return toImage(*local), nil
	}
	ctx, release, err := s.config.Client.WithLease(ctx)
	if err != nil {
		return runtime.Image{}, err
	}
	defer release(context.WithoutCancel(ctx))
	target, err := writeBuiltin(ctx, s.config.Client.ContentStore(), s.builtin.path)
	if err != nil {
		return runtime.Image{}, err
	}
	stored := images.Image{Name: builtinName, Target: target, Labels: map[string]string{labelBinary: binary}}
	if err := s.putImage(ctx, stored); err != nil {
		return runtime.Image{}, err
	}
	if err := containerd.NewImage(s.config.Client, stored).Unpack(ctx, s.config.Snapshotter); err != nil {
		return runtime.Image{}, err
	}
	made := toImage(stored)
	if err := s.cache.pinDigest(ctx, made, images.Image{Target: target}); err != nil {
		return runtime.Image{}, err
	}
	_, err = s.cache.add(ctx, stored)
	return made, err
}

func (s *Store) putImage(ctx context.Context, i images.Image) error {
	_, err := s.config.Client.ImageService().Create(ctx, i)
	if errdefs.IsAlreadyExists(err) {
		_, err = s.config.Client.ImageService().Update(ctx, i)
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
