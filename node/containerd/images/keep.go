package images

import (
	"context"
	"fmt"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"

	"pinion/raftfsm/blob"
)

// labelKept is on the images that the pool has this host keep, on their names by digest. It outlives the process, which is told of them
// only when it is in touch with the leader.
const labelKept = "pinion.kept"

// keeper has this host have the images that the pool wants it to keep.
type keeper struct {
	store  *Store
	wanted chan []blob.Image // capacity 1: the newest list
	failed map[string]bool   // names whose pull was logged
}

// want sets the images that are to be kept.
func (k *keeper) want(all []blob.Image) {
	for {
		select {
		case k.wanted <- all:
			return
		default:
		}
		select {
		case <-k.wanted:
		default:
		}
	}
}

// run follows the lists until ctx ends. What fails is tried again with the next one, which comes every minute.
func (k *keeper) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case all := <-k.wanted:
			if err := k.apply(ctx, all); err != nil && ctx.Err() == nil {
				k.store.config.Log.Warn("cannot tell whether this host has all pinned images", "error", err)
			}
		}
	}
}

func (k *keeper) apply(ctx context.Context, all []blob.Image) error {
	wanted := map[string]bool{}
	for _, i := range all {
		name, err := byDigest(i.Name, i.Digest)
		if err != nil {
			return err
		}
		wanted[name] = true
	}
	if err := k.release(ctx, wanted); err != nil {
		return err
	}
	for name := range wanted {
		err := k.pin(ctx, name)
		if err != nil && ctx.Err() == nil && !k.failed[name] {
			k.store.config.Log.Warn("an image that the pool keeps is not on this host", "image", name, "error", err)
		}
		k.failed[name] = err != nil
	}
	return nil
}

// release lets go of the images that are not wanted any more.
func (k *keeper) release(ctx context.Context, wanted map[string]bool) error {
	kept, err := k.store.config.Client.ImageService().List(ctx, fmt.Sprintf("labels.%q", labelKept))
	if err != nil {
		return err
	}
	for _, i := range kept {
		if wanted[i.Name] {
			continue
		}
		if err := k.label(ctx, i, ""); err != nil {
			return err
		}
	}
	for name := range k.failed {
		if !wanted[name] {
			delete(k.failed, name)
		}
	}
	return nil
}

func (k *keeper) pin(ctx context.Context, name string) error {
	if _, err := k.store.Pull(ctx, name, nil); err != nil {
		return err
	}
	stored, err := k.store.config.Client.ImageService().Get(ctx, name)
	if err == nil && stored.Labels[labelKept] == "" {
		err = k.label(ctx, stored, "true")
	}
	return err
}

// label sets or, with an empty value, removes the label. An image that is gone needs none.
func (k *keeper) label(ctx context.Context, i images.Image, value string) error {
	_, err := k.store.config.Client.ImageService().Update(ctx, images.Image{Name: i.Name, Target: i.Target, Labels: map[string]string{labelKept: value}}, "labels."+labelKept)
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}
