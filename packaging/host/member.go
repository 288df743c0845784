package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"pinion/api"
	"pinion/api/cli"
	"pinion/api/cli/env"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
	"pinion/server"
	"pinion/server/peer"
	"pinion/server/pki"
)

// openMember makes the host a member of a pool: of a new one, of the one to join, or of its existing one.
func (h *host) openMember(ctx context.Context) (err error) {
	if name := nameOf(h.config); !spec.ValidHostName(name) {
		return fmt.Errorf("the host name of this machine is %q, and what a pool calls a host is 1 to 253 letters, digits and . _ -, beginning with a letter or a digit: give it one by `pinion up --name`", name)
	}
	options := pki.Options{Joining: h.config.Join != "", Keys: h.dir.keys}
	identity, err := pki.OpenWith(h.dir.Join("pki"), h.dir.HostID, h.address.Names, options)
	if err != nil {
		return err
	}
	h.port = peer.Listen(h.listener, identity, h.log)
	h.port.SetRefusals(h.recordRefusal)
	h.onClose(h.port.Close)
	h.member, err = server.OpenMember(ctx, server.MemberConfig{
		Dir: h.dir.Path, HostID: h.dir.HostID, PoolID: h.dir.PoolID, Address: h.address.Advertised, Name: nameOf(h.config), Version: h.Version, Starts: h.dir.Starts,
		Identity: identity, Port: h.port, Log: h.log, SecretsGiven: recordSecrets(h.audit), Join: h.config.Join, JoinToken: h.config.JoinToken, Cluster: h.config.Cluster,
		Servers: h.config.NewPool.Servers, ReplaceAfter: h.config.NewPool.ReplaceAfter, TaskLostAfter: h.config.NewPool.LostAfter, Disk: server.MemberDisk{KeepTasks: historyLimits(h.config.Disk)},
	})
	if err != nil {
		return err
	}
	h.onClose(h.member.Close)
	return nil
}

// nameOf is the name of a host in the pool.
func nameOf(c cli.UpConfig) string { return cmp.Or(c.Name, hostname()) }

// hostname is the host name of the machine.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unnamed"
	}
	return name
}

// maintainClientFile writes the file for `pinion env` as soon as the pool has given this host its access key. While the pool cannot be
// reached, a file of an earlier start stays.
func (h *host) maintainClientFile(ctx context.Context) error {
	for {
		key, err := h.member.Admission.HostKey(ctx)
		if err == nil {
			return h.writeClientFile(key)
		}
		if !errors.Is(err, spec.ErrUnavailable) {
			return fmt.Errorf("asking for the access key of this host: %w", err)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}

// writeClientFile writes the endpoint, the access key and the CA for clients on this machine.
func (h *host) writeClientFile(key accesskey.Key) error {
	content, err := json.MarshalIndent(env.Access{
		Endpoint: "https://" + h.address.Local, KeyID: key.ID, Secret: key.Secret,
		Region: api.DefaultRegion, CAFile: pki.CAFile(h.dir.Join("pki")),
	}, "", "  ")
	if err != nil {
		return err
	}
	return h.dir.writeClientFile(append(content, '\n'))
}
