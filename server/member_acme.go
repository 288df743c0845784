package server

import (
	"context"

	"pinion/server/admission"
)

// pathACME is where the leader gives, takes and deletes what hosts share to get certificates by ACME. Any host may call it: each serves every
// listener, and needs the keys of their certificates.
const pathACME = "/peer/acme"

// acmeCall is one call of an autocert.Cache.
type acmeCall struct {
	Do    string `json:"do"` // get, put or delete
	Key   string `json:"key"`
	Value []byte `json:"value,omitempty"`
}

// ACMECache is admission.ACMECache of whichever host leads.
type ACMECache struct {
	leader Leadership
	hostID string
}

// Get is admission.ACMECache.Get; the error wraps spec.ErrNotFound for a key without a value.
func (c ACMECache) Get(ctx context.Context, key string) ([]byte, error) {
	return c.call(ctx, acmeCall{Do: "get", Key: key})
}

// Put is admission.ACMECache.Put.
func (c ACMECache) Put(ctx context.Context, key string, value []byte) error {
	_, err := c.call(ctx, acmeCall{Do: "put", Key: key, Value: value})
	return err
}

// Delete is admission.ACMECache.Delete.
func (c ACMECache) Delete(ctx context.Context, key string) error {
	_, err := c.call(ctx, acmeCall{Do: "delete", Key: key})
	return err
}

func (c ACMECache) call(ctx context.Context, in acmeCall) (value []byte, err error) {
	err = c.leader.callLeader(ctx, pathACME, in, &value, func(s *Server) (err error) {
		value, err = in.carryOut(ctx, s.acme, c.hostID)
		return err
	})
	return value, err
}

func (a *peerAPI) handleACME(ctx context.Context, from string, in acmeCall) ([]byte, error) {
	own, err := a.server.leading()
	if err != nil {
		return nil, err
	}
	return in.carryOut(ctx, own.acme, from)
}

func (in acmeCall) carryOut(ctx context.Context, cache *admission.ACMECache, hostID string) ([]byte, error) {
	switch in.Do {
	case "put":
		return nil, cache.Put(ctx, hostID, in.Key, in.Value)
	case "delete":
		return nil, cache.Delete(ctx, hostID, in.Key)
	}
	return cache.Get(ctx, hostID, in.Key)
}
