package membership

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// PathPoolInfo is the path at any host of the pool for its pool info. The host that asks believes the signed part alone: see PoolCache.VerifiedPoolInfo.
const PathPoolInfo = "/peer/pool"

// Handler tells other hosts what this one knows of the pool.
func (b *PoolCache) Handler() rpc.HandlerFunc {
	return rpc.JSON(func(context.Context, string, struct{}) (spec.PoolInfo, error) { return b.PoolInfo(), nil })
}

// maxServerAddresses bounds the addresses that hosts collect from others which they need not believe.
const maxServerAddresses = 16

// ServerListText is the part of a pool info that the CA signs: which hosts are the pool's servers. So a host learns it from any other that it
// reaches, and none but a server makes one. Addresses are not in it: whoever answers there shows its certificate.
func ServerListText(o spec.PoolInfo) []byte {
	keys := make([]string, len(o.ServerIDs))
	for i, id := range o.ServerIDs {
		keys[i] = o.Keys[id]
	}
	return fmt.Appendf(nil, "the servers of pool %q in incarnation %d at index %d: %q with the keys %q", o.Pool, o.Incarnation, o.Index, o.ServerIDs, keys)
}

// VerifiedPoolInfo is the part of a pool info that this host may believe though it did not come from a server that it knows: which hosts are servers, as it is
// signed, and their addresses as worth a try. ok is false when it is not signed, or of another pool or an earlier incarnation, or older than
// one that this host has heard of: an agent that was a server once cannot bring that back.
func (b *PoolCache) VerifiedPoolInfo(o spec.PoolInfo, verify func(text, signature []byte) bool) (info spec.PoolInfo, ok bool) {
	info = b.PoolInfo()
	if isOlder(o, info) || o.Pool != info.Pool || o.Incarnation < info.Incarnation || len(o.ServerIDs) == 0 || !verify(ServerListText(o), o.Signature) {
		return info, false
	}
	addresses := slices.Clone(o.Servers)
	for _, known := range info.Servers {
		if !slices.Contains(addresses, known) {
			addresses = append(addresses, known)
		}
	}
	info.Servers = addresses[:min(len(addresses), maxServerAddresses)]
	if o.Incarnation == info.Incarnation && o.Index < info.Index {
		return info, true // the same servers
	}
	info.Incarnation, info.ServerIDs, info.Index, info.Signature = o.Incarnation, o.ServerIDs, o.Index, o.Signature
	info.Keys = serverKeys(info.Keys, o)
	if !bytes.Equal(o.CA.Newest, info.CA.Newest) { // what is left of the root before is for servers to say
		info.CA = o.CA
	}
	return info, true
}

// serverKeys are the keys that this host knows, and those of servers that it did not know. No signature gives a host another key.
func serverKeys(known map[string]string, o spec.PoolInfo) map[string]string {
	keys := map[string]string{}
	maps.Copy(keys, known)
	for _, id := range o.ServerIDs {
		if keys[id] == "" && o.Keys[id] != "" {
			keys[id] = o.Keys[id]
		}
	}
	return keys
}
