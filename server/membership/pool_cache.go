package membership

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"sync"

	"pinion/packaging/atomicfile"
	"pinion/raftfsm/spec"
)

// PoolCacheFile is the name of the file of a PoolCache in a data directory.
const PoolCacheFile = "servers.json"

// PoolCache remembers the pool of a host across restarts (servers.json): which pool it is, and where its servers are.
// An empty one is that of a host that belongs to no pool yet.
type PoolCache struct {
	path string

	mu   sync.Mutex
	info spec.PoolInfo // Index is the highest of this incarnation
}

// OpenPoolCache reads servers.json.
func OpenPoolCache(path string) (*PoolCache, error) {
	b := &PoolCache{path: path}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &b.info)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read (%w): put back a backup, or delete it and join again", path, err)
	}
	b.info.Leader = ""
	return b, nil
}

// BelongsToPool reports whether this host belongs to a pool.
func (b *PoolCache) BelongsToPool() bool { return b.PoolInfo().Pool != "" }

// PoolInfo is the pool info as this host knows it.
func (b *PoolCache) PoolInfo() spec.PoolInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.info
}

// OnlyServer reports whether the host at this address was the only server when this host last heard of its pool.
func (b *PoolCache) OnlyServer(address string) bool {
	servers := b.PoolInfo().Servers
	return len(servers) == 1 && servers[0] == address
}

// IsServerAddress reports whether a server of the pool is at this address, as far as this host knows.
func (b *PoolCache) IsServerAddress(address string) bool {
	known := b.PoolInfo()
	return address == known.Leader || slices.Contains(known.Servers, address)
}

// Incarnation is the newest incarnation of the pool that this host has seen.
func (b *PoolCache) Incarnation() int { return b.PoolInfo().Incarnation }

// Update stores what a server tells of the pool. It is not accepted when it is of another pool, or older than a recovery
// that this host knows of; newer means that the pool was recovered since. What was built from an older log than the known list of servers
// says who leads and nothing else: the server that tells it, this host's own after a time away too, has not caught up.
func (b *PoolCache) Update(o spec.PoolInfo) (accepted, newer bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.info
	if o.Pool != before.Pool && before.Pool != "" || o.Incarnation < before.Incarnation {
		return false, false, nil
	}
	if len(o.Servers) > 0 && isOlder(o, before) {
		b.info.Leader = o.Leader
		return true, false, nil
	}
	newer = o.Incarnation > before.Incarnation
	if len(o.Servers) == 0 {
		o.Servers, o.ServerIDs, o.Keys, o.Index, o.Signature = before.Servers, before.ServerIDs, before.Keys, 0, nil
	}
	if !newer && o.Index < before.Index { // the same servers, or none
		o.Index, o.Signature = before.Index, before.Signature
	}
	o.Keys = withKnownKeys(o, before.Keys)
	if len(o.CA.Newest) == 0 {
		o.CA = before.CA
	}
	b.info = o
	before.Leader, o.Leader = "", "" // another leader is not worth a write
	if reflect.DeepEqual(before, o) {
		return true, newer, nil
	}
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return true, newer, err
	}
	if err := atomicfile.Write(b.path, append(text, '\n'), 0o600); err != nil {
		return true, newer, fmt.Errorf("write down where the pool's servers are: %w", err)
	}
	return true, newer, nil
}

// isOlder reports whether a list of servers is from before the known one: it names others, and was built from older entries of the log.
func isOlder(o, known spec.PoolInfo) bool {
	return o.Incarnation == known.Incarnation && o.Index < known.Index && !slices.Equal(o.ServerIDs, known.ServerIDs)
}

// withKnownKeys are the keys that a server tells, and those that are known of servers of which it tells none: a server that has just
// started has not read them yet. The key of a host never changes.
func withKnownKeys(o spec.PoolInfo, known map[string]string) map[string]string {
	keys := maps.Clone(o.Keys)
	for _, id := range o.ServerIDs {
		if key, told := known[id], keys[id]; told == "" && key != "" {
			if keys == nil {
				keys = map[string]string{}
			}
			keys[id] = key
		}
	}
	return keys
}

// Peers are the addresses where this host looks for its pool, without its own: the servers in random order, which spreads the
// hosts over them, and then other hosts that know where servers are.
func (b *PoolCache) Peers(own string) []string {
	known := b.PoolInfo()
	return append(shuffledWithout(known.Servers, own), shuffledWithout(known.Hosts, own)...)
}

func shuffledWithout(addresses []string, without string) []string {
	all := slices.DeleteFunc(slices.Clone(addresses), func(address string) bool { return address == without })
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// IsRemoved reports whether the host was removed from the pool.
func (b *PoolCache) IsRemoved(hostID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.info.Removed, hostID)
}

// Key is the hash of the public key that a host was admitted with, as a server last said; empty when this host was not told.
func (b *PoolCache) Key(hostID string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.info.Keys[hostID]
}

// IsServer reports whether the host is one of the pool's servers, as a server last said.
func (b *PoolCache) IsServer(hostID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.info.ServerIDs, hostID)
}
