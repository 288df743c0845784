package spec

import "time"

// Admission remembers by which token and with which key a host was let into the pool. It lasts as long as the host
// belongs to the pool, and binds the id to the key: a token lets new hosts in, it never lends the name of another.
type Admission struct {
	HostID        string    `json:"hostId"`
	PublicKeyHash string    `json:"key"` // hex SHA-256 of the host's public key (SubjectPublicKeyInfo, DER)
	TokenID       string    `json:"tokenId"`
	At            time.Time `json:"at"`
}
