package network

import (
	"context"
	"fmt"
	"io"
	"net"

	"pinion/raftfsm/spec"
)

// publish forwards host ports to the attached container.
func (b *Bridge) publish(ctx context.Context, r record, ports []spec.PortMapping) (record, error) {
	if len(ports) == 0 {
		return r, nil
	}
	bindings, err := b.reservePorts(ports)
	if err != nil {
		return r, b.rollback(r, err)
	}
	// The record is written as incomplete before the rules are set, so that rules can be found after a crash in between.
	r.Bindings, r.Complete = bindings, false
	if err := b.records.write(r); err != nil {
		return r, b.rollback(r, err)
	}
	if _, _, err := b.plugins.add(ctx, b.portmapPluginConf(r.Result, bindings), r.Sandbox, b.namespace(r)); err != nil {
		return r, b.rollback(r, err)
	}
	r.Complete = true
	if err := b.records.write(r); err != nil {
		return r, b.rollback(r, err)
	}
	return r, nil
}

// unpublish removes the forwarding rules and releases the ports.
func (b *Bridge) unpublish(ctx context.Context, r record) error {
	if len(r.Bindings) == 0 {
		return nil
	}
	if b.firewall != nil && b.config != nil {
		if err := b.plugins.del(ctx, b.portmapPluginConf(nil, r.Bindings), r.Sandbox, b.namespace(r)); err != nil {
			return fmt.Errorf("container network: %w", err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.releasePorts(r.Bindings)
	return nil
}

// reservePorts chooses the host port of each mapping and listens on it while Pinion runs. Packets to a forwarded port never
// reach that socket; it keeps the kernel from giving the port to another program of this host, another Pinion included.
func (b *Bridge) reservePorts(ports []spec.PortMapping) ([]spec.NetworkBinding, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var bindings []spec.NetworkBinding
	for _, p := range ports {
		protocol := p.Protocol
		if protocol == "" {
			protocol = "tcp"
		}
		port, err := b.reservePort(protocol, p.HostPort)
		if err != nil {
			b.releasePorts(bindings)
			return nil, fmt.Errorf("container port %d: %w", p.ContainerPort, err)
		}
		bindings = append(bindings, spec.NetworkBinding{BindIP: "0.0.0.0", ContainerPort: p.ContainerPort, HostPort: port, Protocol: protocol})
	}
	return bindings, nil
}

// releasePorts releases ports. The caller holds the lock.
func (b *Bridge) releasePorts(bindings []spec.NetworkBinding) {
	for _, p := range bindings {
		key := portKey(p.Protocol, p.HostPort)
		if held := b.ports[key]; held != nil {
			held.Close()
		}
		delete(b.ports, key)
	}
}

// releaseAllPorts releases every port; the forwarding rules stay.
func (b *Bridge) releaseAllPorts() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, held := range b.ports {
		if held != nil {
			held.Close()
		}
	}
	clear(b.ports)
}

// reserveRecorded reserves the ports of attachments from an earlier start. If another program has bound one meanwhile, the
// program keeps its socket and the container keeps its packets.
func (b *Bridge) reserveRecorded(bindings []spec.NetworkBinding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range bindings {
		held, _, err := listenPort(p.Protocol, p.HostPort)
		if err != nil {
			held = nil
		}
		b.ports[portKey(p.Protocol, p.HostPort)] = held
	}
}

// ephemeralPortTries bounds the retries when the kernel offers an ephemeral port that is already published.
const ephemeralPortTries = 100

// reservePort reserves the wanted port, or for 0 any ephemeral one. The caller holds the lock.
func (b *Bridge) reservePort(protocol string, wanted int) (int, error) {
	if _, published := b.ports[portKey(protocol, wanted)]; published {
		return 0, fmt.Errorf("host port %d/%s is published by another container of this host", wanted, protocol)
	}
	for range ephemeralPortTries {
		held, port, err := listenPort(protocol, wanted)
		if err != nil && wanted != 0 {
			return 0, fmt.Errorf("host port %d/%s is in use by another program of this host: %w", wanted, protocol, err)
		}
		if err != nil {
			return 0, fmt.Errorf("no host port is free: %w", err)
		}
		if _, published := b.ports[portKey(protocol, port)]; published {
			held.Close()
			continue
		}
		b.ports[portKey(protocol, port)] = held
		return port, nil
	}
	return 0, fmt.Errorf("no host port is free for %s", protocol)
}

// listenPort listens on a port of this host, for 0 on any free one, and returns its number.
func listenPort(protocol string, port int) (io.Closer, int, error) {
	if protocol == "udp" {
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{Port: port})
		if err != nil {
			return nil, 0, err
		}
		return conn, conn.LocalAddr().(*net.UDPAddr).Port, nil
	}
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{Port: port})
	if err != nil {
		return nil, 0, err
	}
	return listener, listener.Addr().(*net.TCPAddr).Port, nil
}

func portKey(protocol string, port int) string { return fmt.Sprintf("%s/%d", protocol, port) }
