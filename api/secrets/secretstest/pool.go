// Package secretstest has a pool without Raft for tests of what keeps parameters and secrets.
package secretstest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"strings"
	"testing"
	"time"

	"pinion/api/auth"
	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
)

// Epoch is when a pool begins.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Pool is a state with the clusters default, a and b. It is its own store and sealer.
type Pool struct {
	State  *raftfsm.State
	Now    time.Time
	Before func()   // is called before each change, to make another one; nil: nothing
	Lost   bool     // the sealing key is
	Log    []byte   // every entry
	Used   []string // by the last operation

	index uint64
}

var (
	_ secrets.Store  = (*Pool)(nil)
	_ secrets.Sealer = (*Pool)(nil)
)

// New makes a pool.
func New(t testing.TB) *Pool {
	t.Helper()
	p := &Pool{State: raftfsm.NewState(), Now: Epoch}
	for _, c := range []raftfsm.Command{
		raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}}, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "a"}}, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "b"}},
	} {
		if _, err := p.Propose(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	return p
}

// View is the state as it is.
func (p *Pool) View(context.Context) (*raftfsm.View, error) { return p.State.View(), nil }

// Propose applies a command as it comes out of the log.
func (p *Pool) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	if before := p.Before; before != nil {
		p.Before = nil
		before()
		p.Before = before
	}
	entry, err := raftfsm.Encode(c)
	if err != nil {
		return nil, err
	}
	p.Log = append(p.Log, entry...)
	if c, err = raftfsm.Decode(entry); err != nil {
		return nil, err
	}
	p.index++
	return p.State.ApplyAt(p.index, p.Now, c)
}

const sealName = "test"

func sealer() cipher.AEAD {
	block, err := aes.NewCipher(bytes.Repeat([]byte("k"), 32))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// Seal seals a value together with the id of its version.
func (p *Pool) Seal(_ context.Context, s *secret.Secret, v *secret.Version, value string) error {
	v.Sealed, v.Seal = sealer().Seal(nil, nil, []byte(value), []byte(s.SealID(v))), sealName
	return nil
}

// Open opens the value of a version.
func (p *Pool) Open(_ context.Context, s *secret.Secret, v *secret.Version) (string, error) {
	if p.Lost || v.Seal != sealName {
		return "", errors.New("it is sealed with a key that this server does not have")
	}
	value, err := sealer().Open(nil, nil, v.Sealed, []byte(s.SealID(v)))
	return string(value), err
}

// Key is a caller with a role, whose key is for some clusters, with commas between, or for all.
func Key(role accesskey.Role, clusters string) auth.Principal {
	return auth.Principal{ARN: "arn:aws:iam::123456789012:user/" + string(role) + clusters, Role: role, Clusters: auth.KeyClusters(clusters), Region: "us-east-1"}
}

// OfTeams is the caller with a key that is for some teams.
func OfTeams(who auth.Principal, teams ...string) auth.Principal {
	who.ARN += strings.Join(teams, "")
	who.Grant.Teams = teams
	return who
}

// Admin is a caller with every right.
var Admin = Key(accesskey.RoleAdmin, "")

// Call has a caller call an operation.
func (p *Pool) Call(who auth.Principal, o secrets.Operation, body string) (string, error) {
	if err := who.RequireRole(o.Role, o.Name); err != nil {
		return "", err
	}
	r := &secrets.Request{Principal: who, View: p.State.View(), Store: p, Sealer: p, Now: func() time.Time { return p.Now }}
	out, err := o.Run(context.Background(), r, []byte(body))
	p.Used = r.Used
	if err != nil {
		return "", err
	}
	text, err := wire.Append(nil, out)
	return string(text), err
}
