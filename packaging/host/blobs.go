package host

import (
	"pinion/node/containerd"
	"pinion/server"
)

// exchangeBlobs begins to exchange images with the other hosts.
func exchangeBlobs(h *host) {
	blobs := server.NewBlobs(h.member)
	blobs.Serve(containerd.ExchangeBlobs(h.runtime, blobs))
	blobs.OnPrefetch(func(refs []string) { containerd.Prefetch(h.runtime, refs) })
	h.onClose(func() error {
		blobs.Close()
		return nil
	})
}
