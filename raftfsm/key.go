package raftfsm

import (
	"fmt"
	"time"
)

// AccessKey lets a client sign requests (SigV4). The secret is needed in clear to check a signature, so whoever can
// read the data directory can act as the key; the files are mode 0600.
type AccessKey struct {
	ID        string    `json:"id"`     // "AKIA" + 16 upper-case letters and digits
	Secret    string    `json:"secret"` // 40 characters; never logged
	Role      string    `json:"role"`   // "admin"
	CreatedAt time.Time `json:"createdAt"`
}

// CreateKey stores an access key. Storing the same key again changes nothing; another secret under the same id is
// ErrInUse. Answer: *AccessKey.
type CreateKey struct{ Key AccessKey }

func (c CreateKey) apply(tx *tx) (any, error) {
	known := tx.Key(c.Key.ID)
	if known == nil {
		tx.put(tableKeys, &c.Key)
		return &c.Key, nil
	}
	if known.Secret != c.Key.Secret {
		return nil, fmt.Errorf("access key %s: %w: make one with another id", c.Key.ID, ErrInUse)
	}
	return known, nil
}
