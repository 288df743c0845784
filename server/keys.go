package server

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"

	"pinion/raftfsm"
)

// FirstKey returns the oldest admin key, making one when the pool has no key at all (created is true then). Whoever
// holds it may do everything.
func (s *Server) FirstKey(ctx context.Context) (key raftfsm.AccessKey, created bool, err error) {
	s.keyLock.Lock()
	defer s.keyLock.Unlock()
	view, err := s.View(ctx)
	if err != nil {
		return key, false, err
	}
	var oldest *raftfsm.AccessKey
	for _, k := range view.Keys() {
		if k.Role == adminRole && (oldest == nil || k.CreatedAt.Before(oldest.CreatedAt)) {
			oldest = k
		}
	}
	if oldest != nil {
		return *oldest, false, nil
	}
	key = raftfsm.AccessKey{ID: newKeyID(), Secret: newSecret(), Role: adminRole, CreatedAt: s.cfg.Now()}
	if _, err := s.Apply(ctx, raftfsm.CreateKey{Key: key}); err != nil {
		return raftfsm.AccessKey{}, false, err
	}
	return key, true, nil
}

const adminRole = "admin"

// newKeyID is "AKIA" and 16 upper-case letters and digits.
func newKeyID() string {
	return "AKIA" + base32.StdEncoding.EncodeToString(random(10))
}

// newSecret is 40 characters that carry 240 random bits.
func newSecret() string { return base64.StdEncoding.EncodeToString(random(30)) }

// newID is 32 hex digits: ECS's form of every id.
func newID() string { return hex.EncodeToString(random(16)) }

// newSeed is what a run's placement draws from.
func newSeed() uint64 { return binary.LittleEndian.Uint64(random(8)) }

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: it ends the process instead
	return b
}
