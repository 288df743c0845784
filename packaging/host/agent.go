package host

import (
	"context"
	"sync"
	"time"

	"pinion/api/cli"
	"pinion/node"
	"pinion/node/measure"
	"pinion/node/names"
	"pinion/node/proxy"
	"pinion/raftfsm/traffic"
)

// proxyGrace is for the requests that this host has in flight when it is stopped.
const proxyGrace = 5 * time.Second

// agent is the agent of this host with its proxy, and with what measures both.
type agent struct {
	*node.Node
	proxy *proxy.Proxy
	meter measure.Meter
	names *names.Names
}

// proxyConfig is what only this host says of its proxy.
func proxyConfig(h *host) (proxy.Config, error) {
	config := proxy.Config{Certificates: h.dir.Join("certificates")}
	if !h.config.AccessLog {
		return config, nil
	}
	files, err := proxy.OpenAccessLog(h.dir.Join("access"))
	if err != nil {
		return config, err
	}
	h.onClose(files.Close)
	config.AccessLog = files
	return config, nil
}

// newAgent makes an agent with its proxy. serving and meter have what only the caller knows.
func newAgent(serving proxy.Config, options cli.NameOptions, meter measure.Meter, config node.Config) (*agent, error) {
	a := &agent{meter: meter}
	var err error
	if a.names, err = names.New(names.Config{Range: options.Addresses, Site: options.Listen, Log: config.Log}); err != nil {
		return nil, err
	}
	serving.Address, serving.Log, serving.ListenVirtual = config.Host.Address, config.Log, a.names.Listen
	serving.Drained = func(target string) { a.Routes.TargetDrained(target) }
	serving.Problems = func(all []traffic.ListenerProblem) { a.Routes.SetListenerProblems(all) }
	a.proxy = proxy.New(serving)
	a.meter.HostID, a.meter.Address, a.meter.Proxy, a.meter.Log = config.Host.ID, config.Host.Address, a.proxy, config.Log
	config.Proxy, config.Resolver = a.names.Before(a.proxy), a.names.Resolver
	a.Node = node.New(config)
	return a, nil
}

// Run is node.Node.Run, and measures what the pool asks for from when it knows the host. Behind it the proxy listens no more, and lets the requests
// in flight finish.
func (a *agent) Run(ctx context.Context) error {
	measured, stop := context.WithCancel(ctx)
	var meter sync.WaitGroup
	meter.Go(func() {
		select {
		case <-a.Joined():
			a.meter.Run(measured)
		case <-measured.Done():
		}
	})
	err := a.Node.Run(ctx)
	stop()
	meter.Wait()
	end, cancel := context.WithTimeout(context.Background(), proxyGrace)
	defer cancel()
	a.proxy.Close(end)
	a.names.Close()
	return err
}
