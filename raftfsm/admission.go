package raftfsm

import (
	"fmt"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableAdmissions = register(noun[spec.Admission]{
		table: "admissions", indexes: []*table.Index[spec.Admission]{admissionsByHost}, refersTo: []string{"joinTokens"},
		commands:  []kind{kindOf[AdmitHost](6, 1), kindOf[AdmitBootstrapHost](63, 1), kindOf[RecordHostRoot](82, 1)},
		noChanges: "a host is told of when it has joined", noExpiry: "RemoveHost deletes it", noCluster: "its host keeps it, or creates it again",
	})
	admissionsByHost = table.By(func(a *spec.Admission) string { return a.HostID })
)

// Admission is nil when the host was never admitted.
func (v *View) Admission(hostID string) *spec.Admission {
	return admissionsByHost.Get(v, sortkey.Key{First: hostID})
}

// AdmitHost checks the join token and counts its use in one step. The caller may then sign a certificate for this host and
// key. A host that asks again with the same token and key, because the first answer was lost, is admitted again and counts
// once. Its cluster, and whether it may become a server, are the token's, and its names are those of the last time. It may use another token, never another key: a
// certificate is no proof, for whoever has once had the key of the CA has one for every host. Refusals: ErrRemoved, the errors of
// join tokens, and ErrInUse when the id belongs to a host with another key. Answer: *Admission.
type AdmitHost struct {
	HostID     string
	Key        string // as in Admission
	TokenID    string
	SecretHash string // hex SHA-256 of the secret that the host sent
	At         time.Time
	Vouched    bool     `json:",omitempty"` // without effect: in earlier entries it let a host have another key
	Cluster    string   `json:",omitempty"` // that the host was told to serve; empty is the token's
	Names      []string `json:",omitempty"` // that its certificates may have
}

func (c AdmitHost) apply(tx *tx) (any, error) {
	if c.HostID == "" || c.Key == "" {
		return nil, fmt.Errorf("a host that wants to join has to send its id and its public key")
	}
	token := jointoken.Find(tx, c.TokenID)
	if token == nil {
		return nil, fmt.Errorf("join token %q: %w", c.TokenID, jointoken.ErrUnknown)
	}
	if !token.Matches(c.SecretHash) {
		return nil, fmt.Errorf("join token %s: %w", c.TokenID, jointoken.ErrWrong)
	}
	known := tx.Admission(c.HostID)
	again := known != nil && known.PublicKeyHash == c.Key && known.TokenID == c.TokenID
	refusal := token.Refusal(c.At)
	if again {
		refusal = token.Ended(c.At)
	}
	if refusal != nil {
		return nil, fmt.Errorf("join token %s: %w", c.TokenID, refusal)
	}
	if err := tx.checkIdentity(c.HostID, c.Key); err != nil {
		return nil, err
	}
	if err := token.CheckCluster(c.Cluster); err != nil {
		return nil, err
	}
	admission := &spec.Admission{HostID: c.HostID, PublicKeyHash: c.Key, TokenID: c.TokenID, At: c.At, Cluster: token.Cluster, Names: c.Names, AgentOnly: token.Role == jointoken.RoleAgent}
	if again {
		if admission.At, admission.Root = known.At, known.Root; command.Equal(admission, known) {
			return known, nil
		}
	} else {
		tx.put(tableJoinTokens, token.Count(c.At))
	}
	tx.put(tableAdmissions, admission)
	return admission, nil
}

// AdmitBootstrapHost records the key and the names of a leader that needed no token: it began the pool, or restored it. ErrRemoved; ErrInUse
// when the host has another key. Answer: *Admission.
type AdmitBootstrapHost struct{ Admission spec.Admission }

func (c AdmitBootstrapHost) apply(tx *tx) (any, error) {
	if known := tx.Admission(c.Admission.HostID); known != nil && known.PublicKeyHash != c.Admission.PublicKeyHash {
		return nil, fmt.Errorf("host %s: %w: it has another key", c.Admission.HostID, spec.ErrInUse)
	}
	if tx.Removed(c.Admission.HostID) {
		return nil, spec.Removed(c.Admission.HostID)
	}
	tx.put(tableAdmissions, &c.Admission)
	return &c.Admission, nil
}

// RecordHostRoot records that a host has a certificate of a root in use. ErrNotFound. Answer: nil.
type RecordHostRoot struct {
	HostID string
	Root   string // as in spec.Admission
}

func (c RecordHostRoot) apply(tx *tx) (any, error) {
	known := tx.Admission(c.HostID)
	if known == nil {
		return nil, fmt.Errorf("host %s: %w", c.HostID, spec.ErrNotFound)
	}
	if admission := *known; admission.Root != c.Root {
		admission.Root = c.Root
		tx.put(tableAdmissions, &admission)
	}
	return nil, nil
}

// HostsNotOn are the hosts of the pool that have no certificate of the root in use yet, as far as they have said.
func (v *View) HostsNotOn(root string) (left []*spec.Host) {
	for _, host := range v.Hosts("") {
		if admission := v.Admission(host.ID); admission == nil || admission.Root != root {
			left = append(left, host)
		}
	}
	return left
}

// checkIdentity returns an error when the key does not belong to the host.
func (v *View) checkIdentity(hostID, key string) error {
	if v.Removed(hostID) {
		return spec.Removed(hostID)
	}
	known := v.Admission(hostID)
	if known != nil && known.PublicKeyHash != key || known == nil && v.Host(hostID) != nil {
		return fmt.Errorf("host %s: %w: it belongs to the pool with another key; "+
			"start with a new data directory, or remove that host first (`pinion hosts rm`)", hostID, spec.ErrInUse)
	}
	return nil
}
