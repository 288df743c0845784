package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

func checkContainerd(ctx context.Context, h *Host) []Finding {
	address, own := h.Containerd, h.Containerd == ""
	if own {
		address = filepath.Join(h.DataDir, "containerd", "containerd.sock")
		if _, err := os.Stat(address); err != nil {
			return []Finding{ok("pinion brings its own, which does not run yet")}
		}
		if !h.running() {
			return []Finding{ok("pinion's own; pinion starts it")}
		}
	}
	version, err := h.Machine.Containerd(ctx, address)
	switch {
	case err != nil && own:
		return []Finding{failed(fmt.Sprintf("pinion's containerd does not answer at %s: %v", address, err), "see containerd.log beside the socket; restart pinion, tasks run on")}
	case err != nil:
		return []Finding{failed(fmt.Sprintf("containerd does not answer at %s: %v", address, err), "start it, or leave out --containerd: pinion brings its own")}
	}
	return []Finding{ok(fmt.Sprintf("%s answers at %s", version, address))}
}

func checkRegistries(ctx context.Context, h *Host) (all []Finding) {
	registries, err := h.Machine.Registries(ctx, h.RegistryConfig)
	if err != nil {
		return []Finding{failed(fmt.Sprintf("the registries of %s cannot be read: %v", h.RegistryConfig, err), "mend certs.d or config.json there (docs/registries.md)")}
	}
	for _, r := range registries {
		err := h.Machine.Ask(ctx, r.Client, r.URL)
		var unknown *net.DNSError
		switch {
		case err == nil:
			all = append(all, ok(fmt.Sprintf("%s answers for %s", r.URL, r.Name)))
		case errors.As(err, &unknown):
			all = append(all, warning(fmt.Sprintf("%s, for %s: the name is not known here: %v", r.URL, r.Name, err), "mend DNS, or name a mirror (docs/registries.md)"))
		default:
			all = append(all, warning(fmt.Sprintf("%s, for %s: %v", r.URL, r.Name, err), "see firewall, proxy and the CA of the registry, or name a mirror (docs/registries.md); images that are here already run"))
		}
	}
	return all
}
