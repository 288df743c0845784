package network

import (
	"context"
	"fmt"
	"io"
	"net"

	"pinion/raftfsm"
)

// publish forwards host ports to the attached container.
func (b *Bridge) publish(ctx context.Context, r record, ports []raftfsm.PortMapping) (record, error) {
	if len(ports) == 0 {
		return r, nil
	}
	bindings, err := b.bind(ports)
	if err != nil {
		return r, b.undo(r, err)
	}
	// Recorded as incomplete before the rules are set, so that a crash in between leaves rules that can be found.
	r.Bindings, r.Complete = bindings, false
	if err := b.records.write(r); err != nil {
		return r, b.undo(r, err)
	}
	if _, err := b.plugins.add(ctx, b.portmapConf(r.Result, bindings), r.Sandbox, b.namespace(r)); err != nil {
		return r, b.undo(r, err)
	}
	r.Complete = true
	if err := b.records.write(r); err != nil {
		return r, b.undo(r, err)
	}
	return r, nil
}

// unpublish takes the forwarding rules away and gives the ports back.
func (b *Bridge) unpublish(ctx context.Context, r record) error {
	if len(r.Bindings) == 0 {
		return nil
	}
	if b.firewall != nil && b.place != nil {
		if err := b.plugins.del(ctx, b.portmapConf(nil, r.Bindings), r.Sandbox, b.namespace(r)); err != nil {
			return fmt.Errorf("container network: %w", err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range r.Bindings {
		delete(b.ports, portKey(p.Protocol, p.HostPort))
	}
	return nil
}

// bind settles the host port of each mapping and holds it. Nothing listens on a forwarded port, so the ports that are
// given out are remembered here; that no other program listens is tried by listening for a moment.
func (b *Bridge) bind(ports []raftfsm.PortMapping) ([]raftfsm.NetworkBinding, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var bindings []raftfsm.NetworkBinding
	for _, p := range ports {
		protocol := p.Protocol
		if protocol == "" {
			protocol = "tcp"
		}
		port, err := b.free(protocol, p.HostPort)
		if err != nil {
			b.let(bindings)
			return nil, fmt.Errorf("container port %d: %w", p.ContainerPort, err)
		}
		b.ports[portKey(protocol, port)] = true
		bindings = append(bindings, raftfsm.NetworkBinding{BindIP: "0.0.0.0", ContainerPort: p.ContainerPort, HostPort: port, Protocol: protocol})
	}
	return bindings, nil
}

func (b *Bridge) let(bindings []raftfsm.NetworkBinding) {
	for _, p := range bindings {
		delete(b.ports, portKey(p.Protocol, p.HostPort))
	}
}

// hold remembers the ports of attachments that were there before this start.
func (b *Bridge) hold(bindings []raftfsm.NetworkBinding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range bindings {
		b.ports[portKey(p.Protocol, p.HostPort)] = true
	}
}

// dynamicTries is how often the kernel is asked for another ephemeral port when it names one that is given out.
const dynamicTries = 100

// free answers the wanted port, or for 0 any ephemeral one. Called with the lock held.
func (b *Bridge) free(protocol string, wanted int) (int, error) {
	if wanted != 0 {
		if b.ports[portKey(protocol, wanted)] {
			return 0, fmt.Errorf("host port %d/%s is published by another container of this host", wanted, protocol)
		}
		if _, err := listenOnce(protocol, wanted); err != nil {
			return 0, fmt.Errorf("host port %d/%s is in use by another program of this host: %w", wanted, protocol, err)
		}
		return wanted, nil
	}
	for range dynamicTries {
		port, err := listenOnce(protocol, 0)
		if err != nil {
			return 0, fmt.Errorf("no host port is free: %w", err)
		}
		if !b.ports[portKey(protocol, port)] {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no host port is free for %s", protocol)
}

func listenOnce(protocol string, port int) (int, error) {
	var open io.Closer
	if protocol == "udp" {
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{Port: port})
		if err != nil {
			return 0, err
		}
		open, port = conn, conn.LocalAddr().(*net.UDPAddr).Port
	} else {
		listener, err := net.ListenTCP("tcp4", &net.TCPAddr{Port: port})
		if err != nil {
			return 0, err
		}
		open, port = listener, listener.Addr().(*net.TCPAddr).Port
	}
	return port, open.Close()
}

func portKey(protocol string, port int) string { return fmt.Sprintf("%s/%d", protocol, port) }
