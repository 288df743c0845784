package spec

import (
	"bytes"
	"cmp"
	"fmt"
	"time"
)

// Pool is the identity of the Raft cluster itself: one record, written by the first start of the first host. A data
// directory of one pool is never opened by another.
type Pool struct {
	ID        string    `json:"id"` // 32 hex digits
	CreatedAt time.Time `json:"createdAt"`
	Settings  Settings  `json:"settings,omitzero"` // as given; View.Settings fills the defaults in
}

// Settings are the settings of the whole pool, whichever host leads. A zero field stands for its default.
type Settings struct {
	Servers       int           `json:"servers,omitempty"`       // servers wanted: 1, 3 or 5; default 3
	ReplaceAfter  time.Duration `json:"replaceAfter,omitempty"`  // a server gone for so long is replaced; default 5m
	TaskLostAfter time.Duration `json:"taskLostAfter,omitempty"` // a host silent for so long loses its tasks; default 60s
	// Incarnation is 1 at first and grows by one with each `pinion recover`. It never falls: hosts that have seen a
	// higher one have nothing to do with servers of a lower one.
	Incarnation int `json:"incarnation,omitempty"`

	Limits PoolLimits `json:"limits,omitzero" level:"1"`
}

// Or is the settings with each zero field taken from other.
func (s Settings) Or(other Settings) Settings {
	return Settings{
		Servers:       cmp.Or(s.Servers, other.Servers),
		ReplaceAfter:  cmp.Or(s.ReplaceAfter, other.ReplaceAfter),
		TaskLostAfter: cmp.Or(s.TaskLostAfter, other.TaskLostAfter),
		Incarnation:   cmp.Or(s.Incarnation, other.Incarnation),
		Limits:        s.Limits.Or(other.Limits),
	}
}

// Or is the limits with each zero field taken from other.
func (l PoolLimits) Or(other PoolLimits) PoolLimits {
	return PoolLimits{
		Tasks:             cmp.Or(l.Tasks, other.Tasks),
		Waiting:           cmp.Or(l.Waiting, other.Waiting),
		Revisions:         cmp.Or(l.Revisions, other.Revisions),
		RevisionsOfFamily: cmp.Or(l.RevisionsOfFamily, other.RevisionsOfFamily),
	}
}

// Check refuses settings out of range, and an incarnation lower than the one in force.
func (s Settings) Check(incarnation int) error {
	switch {
	case s.Servers != 0 && s.Servers != 1 && s.Servers != 3 && s.Servers != 5:
		return fmt.Errorf("the number of servers is 1, 3 or 5, not %d", s.Servers)
	case s.ReplaceAfter < 0 || s.TaskLostAfter < 0:
		return fmt.Errorf("a time of the settings is negative: %v, %v", s.ReplaceAfter, s.TaskLostAfter)
	case min(s.Limits.Tasks, s.Limits.Waiting, s.Limits.Revisions, s.Limits.RevisionsOfFamily) < 0:
		return fmt.Errorf("a limit of the pool is negative: %+v", s.Limits)
	case s.Incarnation != 0 && s.Incarnation < incarnation:
		return fmt.Errorf("incarnation %d is over, the pool is at %d: this server's data is from before a recovery", s.Incarnation, incarnation)
	}
	return nil
}

// CA is the certificate authority of the pool. It is part of the state so that every server can sign. Its key is sealed like the secrets
// of access keys: neither the log nor a snapshot tells it.
type CA struct {
	Certificate []byte    `json:"certificate"`                // PEM, one certificate: the root that signs
	SealedKey   []byte    `json:"sealedKey"`                  // its key, as whoever holds the sealing key can read it
	Seal        string    `json:"seal"`                       // which sealing key that is
	Since       time.Time `json:"since,omitzero" level:"1"`   // when it took the place of the root before; zero for the first root
	Overlap     CAOverlap `json:"overlap,omitzero" level:"1"` // what is left of the root before
}

// CAOverlap is the remainder of the root that a pool's CA had before. It only becomes less. Zero: nothing.
type CAOverlap struct {
	Previous  []byte `json:"previous,omitempty"`  // PEM, the root before
	Cross     []byte `json:"cross,omitempty"`     // PEM, a certificate for the key of the root that signs now, signed by the one before
	Trusted   bool   `json:"trusted,omitempty"`   // hosts take certificates of the root before
	Forced    bool   `json:"forced,omitempty"`    // hosts that are away are not waited for
	Withdrawn bool   `json:"withdrawn,omitempty"` // hosts show Cross to one another alone: clients that know only the root before are not served
}

// IsEmpty reports whether nothing is left.
func (o CAOverlap) IsEmpty() bool { return len(o.Previous) == 0 }

// Intersect returns the overlap that is left of both.
func (o CAOverlap) Intersect(by CAOverlap) CAOverlap {
	if !bytes.Equal(o.Previous, by.Previous) {
		return CAOverlap{}
	}
	o.Trusted, o.Forced, o.Withdrawn = o.Trusted && by.Trusted, o.Forced || by.Forced, o.Withdrawn || by.Withdrawn
	if o.Withdrawn && !o.Trusted {
		return CAOverlap{}
	}
	return o
}

// CARoots are the roots of a pool's CA, as hosts know them.
type CARoots struct {
	Newest  []byte    `json:"newest,omitempty"` // PEM, the root that signs
	Overlap CAOverlap `json:"overlap,omitzero"`
}

// Roots are the certificates of the CA.
func (c *CA) Roots() CARoots { return CARoots{c.Certificate, c.Overlap} }

// PoolInfo is the knowledge of every host about its pool besides its own assignments.
type PoolInfo struct {
	Pool        string            `json:"pool"`
	Incarnation int               `json:"incarnation"`
	Leader      string            `json:"leader,omitempty"`    // address; empty while there is none
	Servers     []string          `json:"servers"`             // addresses of all servers that vote, sorted
	ServerIDs   []string          `json:"serverIds"`           // ids of all servers, and of hosts that are to become one, sorted
	Index       uint64            `json:"index,omitempty"`     // of the log entry at which a server has seen ServerIDs and their Keys first: a later list has a higher one
	Signature   []byte            `json:"signature,omitempty"` // of the pool's CA, over Pool, Incarnation, ServerIDs, their Keys and Index
	Keys        map[string]string `json:"keys"`                // of the hosts in ServerIDs and Hosts, by id: hex SHA-256 of the public key that each was admitted with
	Hosts       []string          `json:"hosts,omitempty"`     // addresses of some other hosts, which know where servers are when these do not
	Removed     []string          `json:"removed,omitempty"`   // ids of hosts whose certificates may still look good

	LogRetention map[string]int `json:"logRetention,omitempty"` // days that hosts keep the logs of these log groups
	// DeletedLogs says of which log groups hosts remove what was written before a moment, in milliseconds since 1970.
	DeletedLogs map[string]int64 `json:"deletedLogs,omitempty"`

	CA CARoots `json:"ca,omitzero"` // the roots of the pool's CA; without Newest: whoever tells this does not know
}
