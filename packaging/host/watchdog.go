package host

import (
	"context"
	"errors"
	"net"
	"net/http"

	"pinion/packaging/sdnotify"
	"pinion/packaging/upgrade"
)

// tellSystemd tells systemd that this host serves as soon as its local socket answers, and from then on that it lives. A host whose pool is
// away is ready: nothing here would become better by a restart, and its tasks run on.
func tellSystemd(ctx context.Context, h *host, service *sdnotify.Service) {
	client := localClient(h.dir.Join("pinion.sock"))
	defer client.CloseIdleConnections()
	if err := answers(ctx, client); err != nil {
		if ctx.Err() == nil {
			h.log.Error("the local socket does not answer: systemd is not told that this host is ready", "error", err)
		}
		return
	}
	service.Status("serving; waiting for the pool")
	service.Ready()
	go func() {
		select {
		case <-h.agent.Joined():
			service.Status("serving at https://" + h.address.Local)
		case <-ctx.Done():
		}
	}()
	service.Watch(ctx, func(ctx context.Context) error {
		// It takes the lock of the agent, and hangs where that is held. The state of a server is read without locks; a store that hangs ends the
		// process by itself.
		h.agent.Pulls("")
		return answers(ctx, client)
	})
}

// tellEnd tells systemd that this host ends, or that it is started anew in its process.
func tellEnd(ctx context.Context, service *sdnotify.Service) {
	if errors.Is(context.Cause(ctx), upgrade.ErrRestart) {
		service.Reloading()
		return
	}
	service.Stopping()
}

// localClient makes requests on the socket of a host.
func localClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

// answers asks the API for what needs no pool. Any answer counts.
func answers(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/version", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
