package network

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ensure creates the bridge and the rules of its subnet; the first attachment calls it. If the bridge is removed later, the
// bridge plugin creates it again.
func (b *Bridge) ensure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ensured {
		return nil
	}
	if b.config == nil {
		p, err := b.allocate()
		if err != nil {
			return err
		}
		b.config = &p
	}
	if err := b.reportSubnet(); err != nil {
		return err
	}
	if b.firewall != nil {
		if err := b.firewall.ensureRules(*b.config); err != nil {
			return err
		}
	}
	b.ensured = true
	return nil
}

// allocate chooses bridge and subnet of this data directory, claims the bridge's name and records both.
func (b *Bridge) allocate() (bridgeConfig, error) {
	p, err := b.choose()
	if err != nil {
		return bridgeConfig{}, err
	}
	claimed, err := claimBridge(p.Bridge)
	if err == nil && !claimed {
		// Another data directory has the default name. The fallback name is unique to this directory: if it exists, it is
		// ours.
		p.Bridge = fallbackBridge(b.dir)
		_, err = claimBridge(p.Bridge)
	}
	if err != nil {
		return bridgeConfig{}, err
	}
	if err := writeBridgeConfig(b.configFile(), p); err != nil {
		return bridgeConfig{}, errors.Join(err, removeBridge(p.Bridge))
	}
	return p, nil
}

// chooseUnused chooses a subnet that this machine does not use.
func (b *Bridge) chooseUnused() (bridgeConfig, error) {
	taken, err := usedPrefixes()
	if err != nil {
		return bridgeConfig{}, err
	}
	return chooseBridgeConfig(b.dir, append(taken, b.avoid...))
}

// deallocate undoes allocate and ensure.
func (b *Bridge) deallocate() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.config == nil {
		return nil
	}
	if b.firewall != nil {
		if err := b.firewall.removeRules(*b.config); err != nil {
			return err
		}
	}
	if err := removeBridge(b.config.Bridge); err != nil {
		return err
	}
	b.config, b.ensured = nil, false
	if err := os.Remove(b.configFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("network state: %w", err)
	}
	return nil
}

// recover compares the records with the machine. A reboot removes namespaces, a crash leaves incomplete attachments, and
// prewarmed attachments are not kept: the next attachment creates new ones.
func (b *Bridge) recover(ctx context.Context) error {
	all, err := b.records.all()
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, r := range all {
		if r.Complete && !r.isPrewarmed() && isNamespace(b.namespace(r)) {
			kept[r.Sandbox] = true
			b.ports.reserveRecorded(r.Bindings)
			continue
		}
		if err := b.tearDown(ctx, r); err != nil {
			return err
		}
	}
	if len(kept) == 0 {
		// Nothing is attached, so no address is in use, whatever the leases of a crashed machine say.
		if err := os.RemoveAll(b.leases()); err != nil {
			return fmt.Errorf("network state: %w", err)
		}
	}
	return b.sweepNamespaces(kept)
}

// sweepNamespaces removes namespaces without a record.
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
