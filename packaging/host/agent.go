package host

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"

	"pinion/api/cli"
	"pinion/node"
	"pinion/node/acme"
	"pinion/node/machine"
	"pinion/node/measure"
	"pinion/node/names"
	"pinion/node/network"
	"pinion/node/proxy"
	"pinion/node/virtualip"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// proxyGrace is for the requests that this host has in flight when it is stopped.
const proxyGrace = 5 * time.Second

// agent is the agent of this host with its proxy, with what measures both, and with its virtual IPs.
type agent struct {
	*node.Node
	proxy *proxy.Proxy
	acme  *acme.Certificates // nil: this host asks no CA
	meter measure.Meter
	names *names.Names
	tasks *network.TaskNetwork // nil: this host has no network of tasks

	host   spec.Host         // as its configuration describes it
	leases virtualip.Control // of virtual IPs; it is asked when the host offers some
}

// proxyConfig is the part of the proxy's options that this host alone sets.
func proxyConfig(h *host) (proxy.Config, error) {
	config := proxy.Config{Certificates: h.dir.Join("certificates"), Listen: h.sockets.Listen}
	if !h.config.Traffic.AccessLog {
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

// acmeCertificates are the certificates that this host gets by ACME, nil when it asks no CA.
func acmeCertificates(h *host) (*acme.Certificates, error) {
	options := h.config.Traffic.ACME
	if options.Directory == "" {
		return nil, nil
	}
	config := acme.Config{Directory: options.Directory, Email: options.Email, Cache: h.member.ACME, Log: h.log}
	if config.Directory == cli.LetsEncrypt {
		config.Directory = acme.LetsEncrypt
	}
	if options.CA == "" {
		return acme.New(config), nil
	}
	text, err := os.ReadFile(options.CA)
	if err != nil {
		return nil, fmt.Errorf("--acme-ca: %w", err)
	}
	config.Roots = x509.NewCertPool()
	if !config.Roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--acme-ca: %s holds no certificate in PEM", options.CA)
	}
	return acme.New(config), nil
}

// newAgent makes an agent with its proxy. serving and meter have what only the caller knows.
func newAgent(serving proxy.Config, certificates *acme.Certificates, options cli.NameOptions, networks *network.Host, meter measure.Meter, config node.Config) (*agent, error) {
	a := &agent{meter: meter, acme: certificates, tasks: networks.Tasks, host: config.Host}
	if certificates != nil {
		serving.ACME = certificates
	}
	var err error
	if a.names, err = names.New(names.Config{Range: options.Addresses, Site: options.Listen, Log: config.Log}); err != nil {
		return nil, err
	}
	if err := networks.OnSubnet(a.names.Answer); err != nil {
		return nil, err
	}
	serving.Address, serving.Log, serving.Virtual, serving.ListenVirtual = config.Host.Address, config.Log, options.Addresses, a.names.Listen
	serving.Drained = func(target string) { a.Routes.TargetDrained(target) }
	serving.Problems = func(all []traffic.ListenerProblem) { a.Routes.SetListenerProblems(all) }
	a.proxy = proxy.New(serving)
	a.meter.HostID, a.meter.Address, a.meter.Proxy, a.meter.Log = config.Host.ID, config.Host.Address, a.proxy, config.Log
	config.Proxy, config.Resolver = a.names.Before(a.proxy), a.names.Resolver
	if a.tasks != nil {
		config.Proxy = a.tasks.Before(config.Proxy)
	}
	a.Node = node.New(config)
	return a, nil
}

// Run is node.Node.Run. From when the pool knows the host it measures what the pool asks for, and has the virtual IPs that the pool gives to it.
// Behind it the proxy listens no more, and lets the requests
// in flight finish.
func (a *agent) Run(ctx context.Context) error {
	joined, stop := context.WithCancel(ctx)
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context){a.meter.Run, func(ctx context.Context) { keepVirtualIPs(ctx, a) }} {
		loops.Go(func() {
			select {
			case <-a.Joined():
				loop(joined)
			case <-joined.Done():
			}
		})
	}
	if a.tasks != nil {
		loops.Go(func() { a.tasks.Run(joined) })
	}
	if a.acme != nil {
		loops.Go(func() { a.acme.Run(joined) })
	}
	err := a.Node.Run(ctx)
	stop()
	loops.Wait()
	end, cancel := context.WithTimeout(context.Background(), proxyGrace)
	defer cancel()
	a.proxy.Close(end)
	a.names.Close()
	return err
}

// keepVirtualIPs has the virtual IPs that this host offers while the leader gives them to it.
func keepVirtualIPs(ctx context.Context, a *agent) {
	virtualip.Run(ctx, virtualip.Config{
		HostID: a.host.ID, Starts: a.host.Starts, Control: a.leases, Device: virtualip.OnLink, Problem: a.SetVirtualIPProblem, Boot: machine.Boot(), Log: a.meter.Log,
	}, a.host.VirtualIPs)
}
