package containerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"

	"pinion/packaging/atomicfile"
)

// deviceInjector gives containers their GPUs. It applies the CDI specification on the client's side, from a directory of
// its own, so that it works with every daemon and no other specification on the host takes part.
type deviceInjector struct {
	source func(ctx context.Context) (kind string, spec []byte, err error)
	dir    string

	mu      sync.Mutex
	written []byte
	cache   *cdi.Cache
}

// inject adds exactly the devices with these UUIDs to the spec.
func (d *deviceInjector) inject(ctx context.Context, spec *specs.Spec, uuids []string) error {
	if len(uuids) == 0 {
		return nil
	}
	if d.source == nil {
		return errors.New("this host has no GPUs to give")
	}
	kind, raw, err := d.source(ctx)
	if err != nil {
		return fmt.Errorf("GPU devices: %w", err)
	}
	cache, err := d.loadSpec(raw)
	if err != nil {
		return fmt.Errorf("GPU devices: %w", err)
	}
	names := make([]string, len(uuids))
	for i, uuid := range uuids {
		names[i] = kind + "=" + uuid
	}
	if unknown, err := cache.InjectDevices(spec, names...); err != nil {
		return fmt.Errorf("GPU devices %v: %w", unknown, err)
	}
	return nil
}

// hasDevices reports whether the host has GPUs.
func (d *deviceInjector) hasDevices(ctx context.Context) (bool, error) {
	if d.source == nil {
		return false, nil
	}
	_, raw, err := d.source(ctx)
	if err != nil {
		return false, fmt.Errorf("GPU devices: %w", err)
	}
	spec, err := cdi.ParseSpec(raw)
	if err != nil {
		return false, fmt.Errorf("GPU devices: %w", err)
	}
	return len(spec.Devices) > 0, nil
}

// loadSpec writes the specification if it has changed, and reads it into a cache.
func (d *deviceInjector) loadSpec(raw []byte) (*cdi.Cache, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cache != nil && bytes.Equal(raw, d.written) {
		return d.cache, nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(d.dir, "gpus.json")
	if err := atomicfile.Replace(path, raw, 0o600); err != nil {
		return nil, err
	}
	cache, err := cdi.NewCache(cdi.WithSpecDirs(d.dir), cdi.WithAutoRefresh(false))
	if err != nil {
		return nil, err
	}
	if failed := cache.GetErrors()[path]; len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	d.cache, d.written = cache, bytes.Clone(raw)
	return cache, nil
}

// checkHooks refuses a spec with a hook whose environment is empty: older runtimes run such a hook as root of the
// host with the environment of the image, LD_PRELOAD included.
func checkHooks(hooks *specs.Hooks) error {
	if hooks == nil {
		return nil
	}
	//lint:ignore SA1019 older CDI specifications use Prestart
	all := [][]specs.Hook{hooks.Prestart, hooks.CreateRuntime, hooks.CreateContainer, hooks.StartContainer, hooks.Poststart, hooks.Poststop}
	for _, kind := range all {
		for _, hook := range kind {
			if len(hook.Env) == 0 {
				return fmt.Errorf("refused: the hook %s has no environment of its own and would run with the image's as root of this host", hook.Path)
			}
		}
	}
	return nil
}
