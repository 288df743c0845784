package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// repository is the name of the image that a program travels in, its carrier, with the beginning of its digest as the tag. No registry has the name: .invalid is
// reserved (RFC 2606).
const repository = "pinion.invalid/upgrade"

// image is the name of the image with the program.
func (p *program) image() string { return repository + ":" + p.digest[len("sha256:"):][:12] }

// bring imports the image with the program into the pool. Hosts take it from one another.
func (p *pool) bring(ctx context.Context) error {
	archive, size, err := p.program.archive()
	if err != nil {
		return err
	}
	defer archive.Close()
	imported, err := client.ImportImages(ctx, p.inv.Client, archive, size, p.program.image(), "", func(int) {})
	if err != nil {
		return fmt.Errorf("bringing the program into the pool: %w", err)
	}
	if len(imported) != 1 {
		return errors.New("bringing the program into the pool: the host has not answered with one image; see `pinion image ls`")
	}
	p.image = imported[0]
	return nil
}

// staleAfter is how old the image of another upgrade is that goes with this one's: no upgrade takes so long.
const staleAfter = 24 * time.Hour

// takeAway removes the image again, also that of a run which was broken off: every host has its program. What is left of earlier upgrades goes with it.
// An image goes that was imported for it, or that the pool keeps by such a name: by which name a host says to have one is its word alone.
func (p *pool) takeAway(ctx context.Context) error {
	name := p.program.image()
	var images []client.Image
	err := p.inv.RetryUnavailable(ctx, func() error {
		return p.do(func(c *client.Client) (err error) {
			images, err = carriers(ctx, c)
			return err
		})
	})
	images = slices.DeleteFunc(images, func(i client.Image) bool {
		if i.Kept == nil {
			return i.Name != name || i.Digest != p.image.Digest
		}
		return i.Name != name && p.inv.Now().Sub(i.Kept.At) < staleAfter
	})
	if err != nil {
		return leftError(name, err)
	}
	for _, i := range images {
		if failed := p.remove(ctx, i); failed != nil {
			err = errors.Join(err, leftError(i.Name, failed))
		}
	}
	return err
}

func leftError(image string, err error) error {
	return fmt.Errorf("the image %s of a program is left: `pinion image rm %s` removes it: %w", image, image, err)
}

// remove has the pool keep an image no longer, and the hosts remove it.
func (p *pool) remove(ctx context.Context, i client.Image) (err error) {
	if i.Kept != nil {
		err = p.inv.RetryUnavailable(ctx, func() error {
			return p.do(func(c *client.Client) error { return client.UnpinImage(ctx, c, i.Name) })
		})
	}
	for _, host := range i.Hosts {
		err = errors.Join(err, p.do(func(c *client.Client) error { return client.RemoveImage(ctx, c, host, i.Digest) }))
	}
	return err
}

// carriers are the images of the pool that programs travel in.
func carriers(ctx context.Context, c *client.Client) ([]client.Image, error) {
	images, err := client.Images[client.Image](ctx, c)
	return slices.DeleteFunc(images, func(i client.Image) bool { return !strings.HasPrefix(i.Name, repository+":") }), err
}

// tellLeft says which carriers are left, by an upgrade that was broken off or could not remove its own.
func tellLeft(ctx context.Context, inv *invocation.Invocation) error {
	left, err := carriers(ctx, inv.Client)
	for _, i := range left {
		inv.Notef("the image %s of a new program is in the pool: when no upgrade is under way, `pinion image rm %s` removes it", i.Name, i.Name)
	}
	return err
}
