package spec

import (
	"cmp"
	"time"
)

// Admission remembers by which token and with which key a host was let into the pool; TokenID is empty for the host that began it. It lasts as long as the host
// belongs to the pool, and binds the id to the key, the cluster and the names: a token lets new hosts in, it never lends the name of another.
type Admission struct {
	HostID        string    `json:"hostId"`
	PublicKeyHash string    `json:"key"` // hex SHA-256 of the host's public key (SubjectPublicKeyInfo, DER)
	TokenID       string    `json:"tokenId"`
	At            time.Time `json:"at"`
	Cluster       string    `json:"cluster,omitempty"` // of the token; empty is the default one
	Names         []string  `json:"names,omitempty"`   // DNS names and IP addresses that the host's certificates may have
	// Root names the root of the pool's CA that signed the certificate in use of the host, as it said last: hex SHA-256 of the root's certificate.
	// Empty before the first rotation of the CA.
	Root string `json:"root,omitempty" level:"1"`
	// AgentOnly says that the host never becomes a server: so its token had it.
	AgentOnly bool `json:"agentOnly,omitempty" level:"1"`
}

// ClusterName is the cluster whose tasks the host runs.
func (a *Admission) ClusterName() string { return cmp.Or(a.Cluster, DefaultCluster) }
