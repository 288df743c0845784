package host

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/api"
	"pinion/api/httpx"
	"pinion/api/rest"
	"pinion/node"
	"pinion/node/containerd"
	"pinion/packaging/doctor"
	"pinion/packaging/sdnotify"
	"pinion/packaging/upgrade"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// serve answers requests until ctx is cancelled or the host cannot continue.
func (h *host) serve(ctx context.Context, service *sdnotify.Service) error {
	if err := upgrade.Trust(h.dir.Path, h.config.ReleaseKeys); err != nil {
		return err
	}
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
	findings := make(chan []doctor.Finding, 1)
	go func() { findings <- warnOfMachine(ctx, h.config, h.log) }() // nobody waits for it: a driver that hangs may hold it up
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.agent.Run(ctx) })
	group.Go(func() error { h.logs.Watch(ctx, h.hostLogLimits(), h.log); return nil })
	group.Go(func() error { return api.Serve(ctx, h.port.API(), config) })
	group.Go(func() error { return api.Serve(ctx, socket, local) })
	group.Go(func() error { return h.watchFatal(ctx) })
	group.Go(func() error { tellSystemd(ctx, h, service); return nil })
	group.Go(func() error { confirmUpgrade(ctx, h); return nil })
	group.Go(func() error { return pushTelemetry(ctx, h, config.Shared.Metrics) })
	group.Go(func() error {
		if err := h.maintainClientFile(ctx); err != nil {
			return err
		}
		return h.printReady(ctx, os.Stdout, findings)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// peerOf is the host of the pool that made a request on the listener for them.
func peerOf(r *http.Request) httpx.Peer {
	hostID, isServer := rpc.Caller(r.Context())
	return httpx.Peer{HostID: hostID, Server: isServer}
}

// apiConfig is the configuration that all API endpoints of this host share.
func (h *host) apiConfig() api.Config {
	images := containerd.NewImageAdmin(h.runtime)
	return api.Config{
		Audit: h.audit, Store: h.member, HostID: h.dir.HostID,
		Agent: rest.Agent{Tasks: h.agent, GPUs: h.agent.GPUs, Images: images, Volumes: node.NewVolumes(h.agent.Node), Doctor: machineDoctor{h.config}, Upgrades: upgrade.NewRemote(h.dir.Path, h.Version, images, h.log)}, Log: h.log, Version: h.Version, Now: time.Now,
		Leader: h.member.Leadership, Forward: h.member.Forwarder, Local: h.member, History: h.member, Queue: h.member.Queue, Services: h.member.Services, Ended: h.member.Ended,
		SignatureUsed: h.member.SignatureUsed,
		Admin:         rest.Admin{JoinTokens: h.member.JoinTokens, Keys: h.member.Keys, Logins: h.member.Keys, Hosts: h.member.Hosts, Snapshots: h.member.Snapshots, Secrets: h.member.Secrets, Images: h.member.Images},
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
