package network

import (
	"context"
	"os"
)

// Destroy removes everything that Open and Attach made for a data directory: namespaces, published ports, packet filter
// rules, the bridge, and the state. No container may use it any more. It is idempotent.
func Destroy(ctx context.Context, cniDir, stateDir string) error {
	if _, err := os.Stat(tasksDir(stateDir)); err == nil {
		within, err := readRange(tasksDir(stateDir))
		if err == nil && within != "" {
			err = setRoutes(within, nil)
		}
		if err == nil {
			err = destroyBridge(ctx, cniDir, tasksDir(stateDir))
		}
		if err != nil {
			return err
		}
	}
	return destroyBridge(ctx, cniDir, stateDir)
}

func destroyBridge(ctx context.Context, cniDir, stateDir string) error {
	b, err := Open(cniDir, stateDir)
	if err != nil {
		return err
	}
	all, err := b.records.all()
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := b.tearDown(ctx, r); err != nil {
			return err
		}
	}
	if err := b.Close(); err != nil { // nothing is attached, so the bridge and its rules are removed
		return err
	}
	if b.firewall != nil {
		if err := b.firewall.removePortmapChains(); err != nil {
			return err
		}
	}
	return os.RemoveAll(b.dir)
}
