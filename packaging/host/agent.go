package host

import (
	"context"
	"time"

	"pinion/node"
	"pinion/node/proxy"
)

// proxyGrace is for the requests that this host has in flight when it is stopped.
const proxyGrace = 5 * time.Second

// agent is the agent of this host with its proxy.
type agent struct {
	*node.Node
	proxy *proxy.Proxy
}

// newAgent makes an agent whose proxy has its certificates in a directory.
func newAgent(certificates string, config node.Config) *agent {
	a := new(agent)
	a.proxy = proxy.New(proxy.Config{
		Address: config.Host.Address, Certificates: certificates, Log: config.Log,
		Drained: func(target string) { a.Routes.TargetDrained(target) },
	})
	config.Proxy = a.proxy
	a.Node = node.New(config)
	return a
}

// Run is node.Node.Run; behind it the proxy listens no more, and lets the requests in flight finish.
func (a *agent) Run(ctx context.Context) error {
	err := a.Node.Run(ctx)
	end, cancel := context.WithTimeout(context.Background(), proxyGrace)
	defer cancel()
	a.proxy.Close(end)
	return err
}
