package network

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ready makes the bridge and the rules of its subnet; the first attachment calls it. A bridge that somebody removed
// meanwhile is made again by the plugin.
func (b *Bridge) ready() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		return nil
	}
	if b.place == nil {
		p, err := b.settle()
		if err != nil {
			return err
		}
		b.place = &p
	}
	if b.firewall != nil {
		if err := b.firewall.open(*b.place); err != nil {
			return err
		}
	}
	b.open = true
	return nil
}

// settle chooses the place of this data directory, claims it and writes it down.
func (b *Bridge) settle() (place, error) {
	taken, err := takenPrefixes()
	if err != nil {
		return place{}, err
	}
	p, err := choosePlace(b.dir, taken)
	if err != nil {
		return place{}, err
	}
	claimed, err := claimBridge(p.Bridge)
	if err == nil && !claimed {
		// Another data directory has the favourite. The other name is this directory's alone: if it exists, it is ours.
		p.Bridge = ownBridge(b.dir)
		_, err = claimBridge(p.Bridge)
	}
	if err != nil {
		return place{}, err
	}
	if err := writePlace(b.placeFile(), p); err != nil {
		return place{}, errors.Join(err, removeBridge(p.Bridge))
	}
	return p, nil
}

// vacate undoes settle and the rules of ready.
func (b *Bridge) vacate() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.place == nil {
		return nil
	}
	if b.firewall != nil {
		if err := b.firewall.shut(*b.place); err != nil {
			return err
		}
	}
	if err := removeBridge(b.place.Bridge); err != nil {
		return err
	}
	b.place, b.open = nil, false
	if err := os.Remove(b.placeFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("network state: %w", err)
	}
	return nil
}

// recover compares what is recorded with what is there. A reboot takes namespaces away, a crash leaves half-made
// attachments, and spares are not worth keeping: the next attachment makes new ones.
func (b *Bridge) recover(ctx context.Context) error {
	all, err := b.records.all()
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, r := range all {
		if r.Complete && !r.spare() && isNamespace(b.namespace(r)) {
			kept[r.Sandbox] = true
			b.hold(r.Bindings)
			continue
		}
		if err := b.takeDown(ctx, r); err != nil {
			return err
		}
	}
	if len(kept) == 0 {
		// Nothing is attached, so no address is given out, whatever the leases of a crashed machine say.
		if err := os.RemoveAll(b.leases()); err != nil {
			return fmt.Errorf("network state: %w", err)
		}
	}
	return b.sweepNamespaces(kept)
}

// sweepNamespaces removes namespaces that no record names.
func (b *Bridge) sweepNamespaces(kept map[string]bool) error {
	files, err := os.ReadDir(b.namespaces())
	if err != nil {
		return fmt.Errorf("network state: %w", err)
	}
	for _, f := range files {
		if kept[f.Name()] {
			continue
		}
		if err := removeNamespace(filepath.Join(b.namespaces(), f.Name())); err != nil {
			return err
		}
	}
	return nil
}
