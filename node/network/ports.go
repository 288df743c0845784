package network

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"pinion/raftfsm/hostport"
	"pinion/raftfsm/spec"
)

// publish forwards host ports to the attached container.
func (b *Bridge) publish(ctx context.Context, r record, ports []spec.PortMapping) (record, error) {
	if len(ports) == 0 {
		return r, nil
	}
	bindings, err := b.ports.reserveAll(ports)
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
	b.ports.release(r.Bindings)
	return nil
}

// hostPorts are the published ports of this host.
type hostPorts struct {
	mu   sync.Mutex
	held map[string]io.Closer // sockets of reserved ports, by portKey; see reserveAll
}

// reserveAll chooses the host port of each mapping and listens on it while Pinion runs. Packets to a forwarded port never
// reach that socket; it keeps the kernel from giving the port to another program of this host, another Pinion included.
func (h *hostPorts) reserveAll(ports []spec.PortMapping) ([]spec.NetworkBinding, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var bindings []spec.NetworkBinding
	for _, p := range ports {
		protocol := p.Protocol
		if protocol == "" {
			protocol = "tcp"
		}
		binding, err := h.reserve(p, protocol)
		if err != nil {
			h.releaseBindings(bindings)
			return nil, err
		}
		bindings = append(bindings, binding)
	}
	return bindings, nil
}

func (h *hostPorts) reserve(p spec.PortMapping, protocol string) (spec.NetworkBinding, error) {
	binding := spec.NetworkBinding{BindIP: "0.0.0.0", Protocol: protocol}
	if p.ContainerPortRange != "" {
		ports, err := hostport.ParseRange(p.ContainerPortRange)
		if err != nil {
			return binding, err
		}
		first, err := h.reserveRange(protocol, ports.Size())
		if err != nil {
			return binding, fmt.Errorf("container ports %s: %w", ports, err)
		}
		binding.ContainerPortRange = ports.String()
		binding.HostPortRange = hostport.Range{First: first, Last: first + ports.Size() - 1}.String()
		return binding, nil
	}
	port, err := h.reservePort(protocol, p.HostPort)
	if err != nil {
		return binding, fmt.Errorf("container port %d: %w", p.ContainerPort, err)
	}
	binding.ContainerPort, binding.HostPort = p.ContainerPort, port
	return binding, nil
}

// release releases ports.
func (h *hostPorts) release(bindings []spec.NetworkBinding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.releaseBindings(bindings)
}

// releaseBindings is release for a caller that holds the lock.
func (h *hostPorts) releaseBindings(bindings []spec.NetworkBinding) {
	for _, p := range bindings {
		host, _ := hostport.Published(p.HostPortRange, p.HostPort, p.ContainerPortRange, p.ContainerPort)
		h.releaseRange(p.Protocol, host)
	}
}

// releaseRange releases ports. The caller holds the lock.
func (h *hostPorts) releaseRange(protocol string, ports hostport.Range) {
	for port := ports.First; port <= ports.Last; port++ {
		key := portKey(protocol, port)
		if held := h.held[key]; held != nil {
			held.Close()
		}
		delete(h.held, key)
	}
}

// releaseAll releases every port; the forwarding rules stay.
func (h *hostPorts) releaseAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, held := range h.held {
		if held != nil {
			held.Close()
		}
	}
	clear(h.held)
}

// reserveRecorded reserves the ports of attachments from an earlier start. If another program has bound one meanwhile, the
// program keeps its socket and the container keeps its packets.
func (h *hostPorts) reserveRecorded(bindings []spec.NetworkBinding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range bindings {
		host, _ := hostport.Published(p.HostPortRange, p.HostPort, p.ContainerPortRange, p.ContainerPort)
		for port := host.First; port <= host.Last; port++ {
			held, _, err := listenPort(p.Protocol, port)
			if err != nil {
				held = nil
			}
			h.held[portKey(p.Protocol, port)] = held
		}
	}
}

// ephemeralPortTries bounds the retries when the kernel offers an ephemeral port that is already published.
const ephemeralPortTries = 100

// reservePort reserves the wanted port, or for 0 any ephemeral one. The caller holds the lock.
func (h *hostPorts) reservePort(protocol string, wanted int) (int, error) {
	if _, published := h.held[portKey(protocol, wanted)]; published {
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
		if _, published := h.held[portKey(protocol, port)]; published {
			held.Close()
			continue
		}
		h.held[portKey(protocol, port)] = held
		return port, nil
	}
	return 0, fmt.Errorf("no host port is free for %s", protocol)
}

// rangeTries bounds the places where a range of ports is looked for.
const rangeTries = 100

// reserveRange reserves so many ports one behind the other, and returns the first. It looks above the ports of outgoing connections, of which a busy host
// has thousands; then where the kernel has a free port, and from another on when one behind it is taken. The caller holds the lock.
func (h *hostPorts) reserveRange(protocol string, size int) (first int, err error) {
	for first = endOfEphemeralPorts() + 1; first+size-1 <= maxPort; {
		reserved := h.reserveFrom(protocol, first, size)
		if reserved == size {
			return first, nil
		}
		first += reserved + 1
	}
	for range rangeTries {
		held, port, err := listenPort(protocol, 0)
		if err != nil {
			return 0, fmt.Errorf("no host port is free: %w", err)
		}
		held.Close()
		if h.reserveFrom(protocol, port, size) == size {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no %d host ports for %s are free one behind the other", size, protocol)
}

// reserveFrom reserves so many ports from the first one on, and returns the number. When it is fewer because one is taken, none stays reserved.
func (h *hostPorts) reserveFrom(protocol string, first, size int) (reserved int) {
	for ; reserved < size && first+reserved <= maxPort; reserved++ {
		if _, err := h.reservePort(protocol, first+reserved); err != nil {
			break
		}
	}
	if reserved < size {
		h.releaseRange(protocol, hostport.Range{First: first, Last: first + reserved - 1})
	}
	return reserved
}

// endOfEphemeralPorts is the last port that the kernel gives to outgoing connections; the last one that there is where it does not tell.
func endOfEphemeralPorts() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return maxPort
	}
	var begin, end int
	if _, err := fmt.Sscan(string(text), &begin, &end); err != nil {
		return maxPort
	}
	return end
}

// maxPort is the last port that there is.
const maxPort = 1<<16 - 1

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
