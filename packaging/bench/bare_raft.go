package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// bareRaft is three servers of Raft and nothing else, on loopback, each with its log on the disk: what an entry costs
// before anything of ours.
type bareRaft struct {
	dir     string
	nodes   []*raft.Raft
	closers []io.Closer
	leader  *raft.Raft
}

// entryBytes is about the size of an entry that places one task.
const entryBytes = 1 << 10

func startBareRaft() (*bareRaft, error) {
	dir, err := os.MkdirTemp("", "pinion-bench-raft-")
	if err != nil {
		return nil, err
	}
	b := &bareRaft{dir: dir}
	var voters raft.Configuration
	for i := range servers {
		address, err := b.open(fmt.Sprint("server-", i))
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		voters.Servers = append(voters.Servers, raft.Server{ID: raft.ServerID(fmt.Sprint("server-", i)), Address: address})
	}
	if err := b.nodes[0].BootstrapCluster(voters).Error(); err != nil {
		return nil, errors.Join(err, b.close())
	}
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); pause() {
		for _, node := range b.nodes {
			if node.State() == raft.Leader {
				b.leader = node
				return b, nil
			}
		}
	}
	return nil, errors.Join(errors.New("bare Raft elects no leader"), b.close())
}

func (b *bareRaft) open(id string) (raft.ServerAddress, error) {
	config := raft.DefaultConfig()
	config.LocalID, config.Logger = raft.ServerID(id), hclog.NewNullLogger()
	transport, err := raft.NewTCPTransport("127.0.0.1:0", nil, 3, waitTimeout, io.Discard)
	if err != nil {
		return "", err
	}
	b.closers = append(b.closers, transport)
	log, err := raftboltdb.NewBoltStore(filepath.Join(b.dir, id))
	if err != nil {
		return "", err
	}
	b.closers = append(b.closers, log)
	node, err := raft.NewRaft(config, forgetful{}, log, log, raft.NewInmemSnapshotStore(), transport)
	if err != nil {
		return "", err
	}
	b.nodes = append(b.nodes, node)
	return transport.LocalAddr(), nil
}

// entry times one entry, from its proposal to its application at the leader.
func (b *bareRaft) entry() (time.Duration, error) {
	begin := time.Now()
	err := b.leader.Apply(make([]byte, entryBytes), waitTimeout).Error()
	return time.Since(begin), err
}

func (b *bareRaft) close() error {
	var err error
	for _, node := range b.nodes {
		err = errors.Join(err, node.Shutdown().Error())
	}
	for _, c := range b.closers {
		err = errors.Join(err, c.Close())
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// forgetful is a state machine without a state.
type forgetful struct{}

func (forgetful) Apply(*raft.Log) any                 { return nil }
func (forgetful) Snapshot() (raft.FSMSnapshot, error) { return forgetful{}, nil }
func (forgetful) Restore(r io.ReadCloser) error       { return r.Close() }
func (forgetful) Persist(s raft.SnapshotSink) error   { return s.Close() }
func (forgetful) Release()                            {}
