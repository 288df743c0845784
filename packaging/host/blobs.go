package host

import "pinion/node/containerd"

// exchangeBlobs begins to exchange images with the other hosts.
func exchangeBlobs(h *host) {
	h.member.Blobs.HandleBlobs(containerd.UsePeers(h.runtime, h.member.Blobs))
	h.member.Prefetch.OnPrefetch(func(refs []string) { containerd.Prefetch(h.runtime, refs) })
}
