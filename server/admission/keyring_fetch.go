package admission

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pinion/packaging/backoff"
	"pinion/raftfsm/sealing"
	"pinion/server/rpc"
)

// PathKeyring is where a server gives its keyring to another server, and to nobody else.
const PathKeyring = "/peer/keyring"

const keyringFetchTimeout = 2 * time.Second // of one try

// fetchDelays are the pauses between two tries: a key that no server has is looked for seldom.
var fetchDelays = backoff.Backoff{Min: time.Second, Max: time.Minute}

// KeyringFetcher asks the other servers for keys that the keyring lacks.
type KeyringFetcher struct {
	Client *rpc.Client
	Others func() []string // addresses of the other servers
	Log    *slog.Logger

	mu    sync.Mutex
	next  time.Time
	tries int      // since something is lacking
	lost  []string // names of the keys that no server has, as of the last try in which all others answered
}

// due reports whether it is time for a try. The pause after it is twice the one before.
func (f *KeyringFetcher) due(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Before(f.next) {
		return false
	}
	f.next = now.Add(fetchDelays.After(f.tries))
	f.tries++
	return true
}

// reset has the next try begin at once: nothing is lacking now.
func (f *KeyringFetcher) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next, f.tries, f.lost = time.Time{}, 0, nil
}

// keysOf are the keys that another server gives away.
func (f *KeyringFetcher) keysOf(ctx context.Context, address string) (keys [][]byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, keyringFetchTimeout)
	defer cancel()
	return keys, f.Client.Call(ctx, address, PathKeyring, struct{}{}, &keys)
}

// FetchKeyring asks the other servers for keys while the state has a secret that this one cannot read. A new server does it
// once; the server that has the key need not lead.
func (a *AccessKeys) FetchKeyring(ctx context.Context) {
	f := a.Fetch
	if f == nil {
		return
	}
	asked := a.lackingKeys()
	if len(asked) == 0 {
		f.reset()
		return
	}
	if !f.due(a.Server.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, keyringFetchTimeout)
	defer cancel()
	answered := true
	for _, address := range f.Others() {
		keys, err := f.keysOf(ctx, address)
		if err == nil {
			err = a.Keyring.Add(keys...)
		}
		if err != nil {
			f.Log.Debug("a server did not give its keyring", "server", address, "error", err)
			answered = false
		}
		if len(a.lackingKeys()) == 0 {
			return
		}
	}
	if answered {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lost = slices.DeleteFunc(asked, a.Keyring.Has) // no key of which no server was asked
	}
}

// isLost reports whether all servers have said that they do not have a key.
func (a *AccessKeys) isLost(key string) bool {
	f := a.Fetch
	if f == nil || a.Keyring.Has(key) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.lost, key)
}

// lackingKeys are the names of the keys that secrets in the state are sealed with and the keyring lacks.
func (a *AccessKeys) lackingKeys() []string {
	view := a.Server.State().View()
	needed := sealsOf(view)
	if key := sealing.Find(view); key != nil {
		needed = append(needed, key.Name)
	}
	return slices.DeleteFunc(needed, a.Keyring.Has)
}
