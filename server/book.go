package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"sync"

	"pinion/server/store"
)

// book is what a host remembers of its pool across restarts (servers.json): which pool it is, and where its servers are.
// An empty one is that of a host that belongs to no pool yet.
type book struct {
	path string

	mu    sync.Mutex
	known outlook
}

// openBook reads servers.json.
func openBook(path string) (*book, error) {
	b := &book{path: path}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &b.known)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read (%w): put back a backup, or delete it and join again", path, err)
	}
	b.known.Leader = ""
	return b, nil
}

// member reports whether this host belongs to a pool.
func (b *book) member() bool { return b.outlook().Pool != "" }

func (b *book) outlook() outlook {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known
}

func (b *book) incarnation() int { return b.outlook().Incarnation }

// learn takes in what a server says of the pool; false when it is of before a recovery that this host knows of. newer
// says that the pool was recovered since.
func (b *book) learn(o outlook) (believed, newer bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.Pool != b.known.Pool && b.known.Pool != "" || o.Incarnation < b.known.Incarnation {
		return false, false, nil
	}
	newer = o.Incarnation > b.known.Incarnation
	if len(o.Servers) == 0 {
		o.Servers = b.known.Servers
	}
	before := b.known
	b.known = o
	before.Leader, o.Leader = "", "" // who leads is not worth a write
	if reflect.DeepEqual(before, o) {
		return true, newer, nil
	}
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return true, newer, err
	}
	if err := store.WriteFile(b.path, append(text, '\n'), 0o600); err != nil {
		return true, newer, fmt.Errorf("write down where the pool's servers are: %w", err)
	}
	return true, newer, nil
}

// others are the addresses to look for the pool at, but for this host's own: its servers in an order that differs from host
// to host and from time to time, which spreads the hosts over them, and then hosts that can guide this one.
func (b *book) others(own string) []string {
	known := b.outlook()
	return append(shuffled(known.Servers, own), shuffled(known.Hosts, own)...)
}

func shuffled(addresses []string, without string) []string {
	all := slices.DeleteFunc(slices.Clone(addresses), func(address string) bool { return address == without })
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// removed reports whether the host was removed from the pool.
func (b *book) removed(hostID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.known.Removed, hostID)
}
