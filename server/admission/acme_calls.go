package admission

import (
	"context"

	"pinion/server/rpc"
)

// PathACME is the path at the leader for the items that hosts share to get certificates by ACME: to get, put and delete them. Any host may call it: each serves every
// listener, and needs the keys of their certificates.
const PathACME = "/peer/acme"

// ACMECalls are the ACMECache of whichever host leads, for this host by its methods, which are those of an autocert.Cache, and for others by Routes.
type ACMECalls struct {
	Leader rpc.Leadership
	HostID string                     // of this host
	Cache  func() (*ACMECache, error) // of the server here, while it leads
}

// acmeCall is one call of an autocert.Cache.
type acmeCall struct {
	Do    string `json:"do"` // get, put or delete
	Key   string `json:"key"`
	Value []byte `json:"value,omitempty"`
}

// Get is ACMECache.Get; the error wraps spec.ErrNotFound for a key without a value.
func (c ACMECalls) Get(ctx context.Context, key string) ([]byte, error) {
	return c.call().Do(ctx, c.Leader, c.HostID, acmeCall{Do: "get", Key: key})
}

// Put is ACMECache.Put.
func (c ACMECalls) Put(ctx context.Context, key string, value []byte) error {
	_, err := c.call().Do(ctx, c.Leader, c.HostID, acmeCall{Do: "put", Key: key, Value: value})
	return err
}

// Delete is ACMECache.Delete.
func (c ACMECalls) Delete(ctx context.Context, key string) error {
	_, err := c.call().Do(ctx, c.Leader, c.HostID, acmeCall{Do: "delete", Key: key})
	return err
}

// Routes answers other hosts, by the path of the call.
func (c ACMECalls) Routes() map[string]rpc.HandlerFunc {
	return map[string]rpc.HandlerFunc{PathACME: c.call().Handler()}
}

func (c ACMECalls) call() rpc.LeaderCall[acmeCall, []byte] {
	return rpc.LeaderCall[acmeCall, []byte]{Path: PathACME, Answer: func(ctx context.Context, from string, in acmeCall) ([]byte, error) {
		cache, err := c.Cache()
		if err != nil {
			return nil, err
		}
		switch in.Do {
		case "put":
			return nil, cache.Put(ctx, from, in.Key, in.Value)
		case "delete":
			return nil, cache.Delete(ctx, from, in.Key)
		}
		return cache.Get(ctx, from, in.Key)
	}}
}
