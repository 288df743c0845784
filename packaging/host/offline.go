package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"time"

	"pinion/api/cli"
	"pinion/api/cli/format"
	"pinion/node/machine"
	"pinion/server/backup"
	"pinion/server/history"
	"pinion/server/pki"
	"pinion/server/recovery"
)

// Recover makes a host, which must not be running, the only server of a new incarnation of its pool.
func (b Build) Recover(ctx context.Context, offline cli.OfflineHost) error {
	h := &host{Build: b, log: slog.New(slog.DiscardHandler)}
	defer h.close()
	member, err := h.offlineMember(ctx, offline)
	if err != nil {
		return err
	}
	_, err = recovery.RecoverPool(ctx, member)
	return err
}

// Restore makes the state in a snapshot file that of a host, which must not be running, in a new incarnation of its pool.
func (b Build) Restore(ctx context.Context, offline cli.OfflineHost, file string) error {
	h := &host{Build: b, log: slog.New(slog.DiscardHandler)}
	defer h.close()
	member, err := h.offlineMember(ctx, offline)
	if err != nil {
		return err
	}
	snapshot, err := os.Open(file)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	_, err = recovery.RestorePool(ctx, member, snapshot)
	return err
}

// offlineMember returns a host that is not running. A host that never ran gets the address of its
// first start.
func (h *host) offlineMember(ctx context.Context, offline cli.OfflineHost) (recovery.Host, error) {
	h.config.DataDir = offline.DataDir
	if err := h.openDirectory(ctx); err != nil {
		return recovery.Host{}, err
	}
	if err := h.dir.unlock(offline.Unlock); err != nil {
		return recovery.Host{}, err
	}
	if err := h.prepareDirectory(ctx); err != nil {
		return recovery.Host{}, err
	}
	identity, err := pki.OpenWith(h.dir.Join("pki"), h.dir.HostID, nil, pki.Options{Joining: true, Keys: h.dir.keys})
	if err != nil {
		return recovery.Host{}, err
	}
	address, err := os.ReadFile(h.dir.Join(addressFile))
	if errors.Is(err, fs.ErrNotExist) {
		address, err = []byte(machine.NewAddresses(&net.TCPAddr{IP: net.IPv4zero, Port: cli.DefaultPort}, "").Advertised), nil
	}
	return recovery.Host{Dir: h.dir.Path, HostID: h.dir.HostID, Identity: identity, Address: string(address), Log: h.log}, err
}

// InspectSnapshot checks a snapshot file and prints what it contains, in one line or as JSON.
func InspectSnapshot(out io.Writer, file string, asJSON bool) error {
	snapshot, err := os.Open(file)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	info, err := backup.Inspect(snapshot, history.CountTasks)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if asJSON {
		return json.NewEncoder(out).Encode(info)
	}
	past := "no history"
	if info.EndedTasks != nil {
		past = format.Plural(*info.EndedTasks, "task") + " in the history"
	} else if info.NoHistory != "" {
		past += " (" + info.NoHistory + ")"
	}
	_, err = fmt.Fprintf(out, "pool %s of %s, incarnation %d, change %d: %s, %s, %s, %s, %s, %s; checksum OK\n",
		info.Pool, info.CreatedAt.Format(time.DateTime), info.Incarnation, info.Index, format.Plural(info.Hosts, "host"), format.Plural(info.Clusters, "cluster"),
		format.Plural(info.Definitions, "task definition"), format.Plural(info.Tasks, "task"), format.Plural(info.Keys, "key"), past)
	return err
}
