package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/api"
	"pinion/api/cli"
	"pinion/api/cli/invocation"
	"pinion/api/httpx"
	"pinion/api/rest"
	"pinion/node/containerd"
	"pinion/raftfsm/spec"
	"pinion/server"
)

// serve answers requests until ctx is cancelled or the host cannot continue.
func (h *host) serve(ctx context.Context) error {
	socket, err := api.ListenLocal(h.dir.Join("pinion.sock"))
	if err != nil {
		return err
	}
	config := h.apiConfig()
	local, peers := config, config
	local.Trusted = true // only root can open the socket
	peers.FromPeer = peerOf
	h.member.HandleAPI(api.NewHandler(peers))
	h.metadata.HandleAPI(api.NewHandler(config))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.agent.Run(ctx) })
	group.Go(func() error { h.logs.Watch(ctx, h.hostLogLimits(), h.log); return nil })
	group.Go(func() error { return api.Serve(ctx, h.port.API(), config) })
	group.Go(func() error { return api.Serve(ctx, socket, local) })
	group.Go(func() error { return h.watchFatal(ctx) })
	group.Go(func() error {
		if err := h.maintainClientFile(ctx); err != nil {
			return err
		}
		return h.printReady(ctx, os.Stdout)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// peerOf is the host of the pool that made a request on the listener for them.
func peerOf(r *http.Request) httpx.Peer {
	hostID, isServer := server.Caller(r.Context())
	return httpx.Peer{HostID: hostID, Server: isServer}
}

// apiConfig is the configuration that all API endpoints of this host share.
func (h *host) apiConfig() api.Config {
	return api.Config{
		Audit: h.audit, Store: h.member, Agent: rest.Agent{Tasks: h.agent, GPUs: h.agent.GPUs, Images: containerd.ImageAdmin{Runtime: h.runtime}, Doctor: machineDoctor{h}}, HostID: h.dir.HostID, Log: h.log, Version: h.Version, Now: time.Now,
		Leader: h.member.Leadership(), Forward: h.member.Forwarder(), Local: h.member, History: h.member, Queue: h.member.Queue(), Services: server.ServicePlans{Member: h.member}, Ended: server.EndedTasks{Member: h.member},
		SignatureUsed: h.member.Leadership().SignatureUsed,
		Admin:         rest.Admin{Tokens: h.member.Tokens(), Keys: h.member.Keys(), Hosts: h.member.Hosts(), Snapshots: h.member, Secrets: server.Secrets{Member: h.member}, Images: server.PoolImages{Member: h.member}},
		Shared:        sharedOf(h),
	}
}

// watchFatal passes a fatal error of the member on to Up.
func (h *host) watchFatal(ctx context.Context) error {
	select {
	case err := <-h.member.Fatal():
		if errors.Is(err, spec.ErrRemoved) {
			err = errors.Join(err, endTasks(h))
		}
		h.fatal <- err
		return err
	case <-ctx.Done():
		return nil
	}
}

// printReady prints that the host is ready, with its GPUs and a next command.
func (h *host) printReady(ctx context.Context, out io.Writer) error {
	select {
	case <-h.agent.Joined():
	case <-ctx.Done():
		return nil
	}
	inventory, err := h.gpus.source.Inventory(ctx)
	if err != nil {
		inventory.Problem = err.Error()
	}
	gpus := ""
	if len(inventory.Devices) > 0 {
		gpus = " --gpus 1"
	}
	fmt.Fprintf(out, "Pinion is ready at https://%s\n  GPUs: %s\n  next: pinion%s run%s pinion/self\n", h.address.Local, inventory, dataDirFlag(h.dir.Path), gpus)
	var has *spec.Settings // an agent does not hold the state
	if view, err := h.member.StaleView(); err == nil {
		settings := view.Settings()
		has = &settings
	}
	for _, ignored := range ignoredSettings(h.config, has) {
		fmt.Fprintf(out, "  note: %s\n", ignored)
	}
	return nil
}

// ignoredSettings are the options of this start that are for a new pool, and differ from what the pool has; with nil that is not known.
func ignoredSettings(c cli.UpConfig, pool *spec.Settings) (notes []string) {
	has := spec.Settings{}
	if pool != nil {
		has = *pool
	}
	for _, option := range []struct {
		name       string
		given, has any
		unset      bool
	}{
		{"servers", c.Servers, has.Servers, c.Servers == 0},
		{"replace-after", c.ReplaceAfter, has.ReplaceAfter, c.ReplaceAfter == 0},
		{"lost-after", c.LostAfter, has.TaskLostAfter, c.LostAfter == 0},
	} {
		switch {
		case option.unset:
		case pool == nil:
			notes = append(notes, fmt.Sprintf("--%s %v is for a new pool; this one has its own, which `pinion pool` shows on a server", option.name, option.given))
		case option.given != option.has:
			notes = append(notes, fmt.Sprintf("--%s %v is for a new pool; this one has %v: `pinion pool set %s=%v` changes it", option.name, option.given, option.has, option.name, option.given))
		}
	}
	return notes
}

// dataDirFlag returns the option that selects the host in dir, after a space; empty for the default directory.
func dataDirFlag(dir string) string {
	if dir == invocation.DefaultDataDir {
		return ""
	}
	return fmt.Sprintf(" --data-dir '%s'", strings.ReplaceAll(dir, "'", `'\''`))
}
