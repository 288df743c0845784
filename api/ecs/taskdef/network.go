package taskdef

import (
	"fmt"
	"net/netip"
	"slices"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/hostport"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
)

var (
	// portName is the name of a published port.
	portName = lazyregexp.New(`^[a-z0-9_][a-z0-9_-]{0,63}$`)
	// domainName is a host name or a domain: labels of letters, digits and hyphens with dots between them.
	domainName = lazyregexp.New(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}))*\.?$`)
)

func checkPorts(c container, networkMode string) error {
	if c.HasNoNetwork() && len(c.PortMappings)+len(c.Links) > 0 {
		return c.errorf("disableNetworking", "disableNetworking leaves the container without a network: remove it, or portMappings and links.")
	}
	if networkMode == "none" && len(c.PortMappings) > 0 {
		return c.errorf("portMappings", "portMappings must be empty with networkMode none.")
	}
	for i, p := range c.PortMappings {
		path := field.Index("portMappings", i)
		switch {
		case p.ContainerPortRange != "":
			if err := checkPortRange(c, i, networkMode); err != nil {
				return err
			}
		case p.ContainerPort < 1 || p.ContainerPort > 65535:
			return c.errorf(field.Join(path, "containerPort"), "portMappings.containerPort must be 1 to 65535, not %d.", p.ContainerPort)
		}
		switch {
		case p.HostPort < 0 || p.HostPort > 65535:
			return c.errorf(field.Join(path, "hostPort"), "portMappings.hostPort must be 0 to 65535, not %d.", p.HostPort)
		case !slices.Contains(types.TransportProtocols, p.Protocol):
			return c.errorf(field.Join(path, "protocol"), "portMappings.protocol must be tcp or udp, not %q.", p.Protocol)
		case p.Name != "" && !portName.MatchString(p.Name):
			return c.errorf(field.Join(path, "name"), "portMappings.name must be 1 to 64 lower-case letters, digits, hyphens and underscores, not %q.", p.Name)
		case p.AppProtocol != "" && !slices.Contains(types.ApplicationProtocols, p.AppProtocol):
			return c.errorf(field.Join(path, "appProtocol"), "portMappings.appProtocol must be http, http2 or grpc, not %q.", p.AppProtocol)
		case (networkMode == "host" || networkMode == "awsvpc") && p.HostPort != p.ContainerPort:
			return c.errorf(field.Join(path, "hostPort"), "with networkMode %s, hostPort must be empty or the same as containerPort %d, not %d.", networkMode, p.ContainerPort, p.HostPort)
		}
	}
	return nil
}

// checkPortRange holds the rules for the i-th port mapping, which is a range. The host chooses its own ports, so they can only be of a network that has some
// for the task.
func checkPortRange(c container, i int, networkMode string) error {
	p, path := c.PortMappings[i], field.Join(field.Index("portMappings", i), "containerPortRange")
	ports, err := hostport.ParseRange(p.ContainerPortRange)
	switch {
	case err != nil:
		return c.errorf(path, "portMappings.containerPortRange: %v.", err)
	case p.ContainerPort != 0 || p.HostPort != 0:
		return c.errorf(path, "portMappings.containerPortRange stands in place of containerPort and hostPort: remove these, or the range.")
	case networkMode == "host":
		return c.errorf(path, "portMappings.containerPortRange is for networkMode bridge: with host, list the ports one by one.")
	}
	for j, other := range c.PortMappings {
		its, err := hostport.ParseRange(other.ContainerPortRange)
		if other.ContainerPortRange == "" {
			its, err = hostport.Range{First: other.ContainerPort, Last: other.ContainerPort}, nil
		}
		if j != i && err == nil && other.Protocol == p.Protocol && ports.Overlaps(its) {
			return c.errorf(path, "portMappings.containerPortRange %s has ports of another mapping of the container.", ports)
		}
	}
	return nil
}

// maxPublished bounds the ports that the containers of a task publish together: each takes one of the host's, which has some 28,000 for
// all tasks and for its own connections.
const maxPublished = 200

// checkPublished bounds the ports of a task.
func checkPublished(d *spec.TaskDefinition) error {
	published := 0
	for _, c := range containersOf(d) {
		for i, p := range c.PortMappings {
			published++
			if ports, err := hostport.ParseRange(p.ContainerPortRange); p.ContainerPortRange != "" && err == nil {
				published += ports.Last - ports.First
			}
			if published > maxPublished {
				return c.errorf(field.Index("portMappings", i), "the containers of a task publish %d ports at most.", maxPublished)
			}
		}
	}
	return nil
}

// checkHostPorts refuses two containers of one task that publish the same port or name.
func checkHostPorts(d *spec.TaskDefinition) error {
	if err := checkPublished(d); err != nil {
		return err
	}
	taken, named := map[string]bool{}, map[string]bool{}
	for _, c := range containersOf(d) {
		for i, p := range c.PortMappings {
			path, port := field.Index("portMappings", i), fmt.Sprintf("%d/%s", p.HostPort, p.Protocol)
			if p.HostPort != 0 && taken[port] {
				return c.errorf(field.Join(path, "hostPort"), "host port %s is mapped twice in this task definition.", port)
			}
			taken[port] = true
			if named[p.Name] {
				return c.errorf(field.Join(path, "name"), "the name %s of a port is there twice in this task definition.", p.Name)
			}
			named[p.Name] = p.Name != ""
		}
	}
	return nil
}

// checkDNS holds the rules for a container's own name and for the names that it looks up.
func checkDNS(c container) error {
	if c.Hostname != "" && (!domainName.MatchString(c.Hostname) || len(c.Hostname) > 64) {
		return c.errorf("hostname", "hostname %q must be a host name of at most 64 characters.", c.Hostname)
	}
	for i, entry := range c.ExtraHosts {
		if _, err := netip.ParseAddr(entry.IPAddress); err != nil || !domainName.MatchString(entry.Hostname) {
			return c.errorf(field.Index("extraHosts", i), "extraHosts must have a hostname and an ipAddress, not %q and %q.", entry.Hostname, entry.IPAddress)
		}
	}
	for i, server := range c.DNSServers {
		if _, err := netip.ParseAddr(server); err != nil {
			return c.errorf(field.Index("dnsServers", i), "dnsServers must hold IP addresses, not %q.", server)
		}
	}
	for i, domain := range c.DNSSearchDomains {
		if !domainName.MatchString(domain) {
			return c.errorf(field.Index("dnsSearchDomains", i), "dnsSearchDomains must hold domain names, not %q.", domain)
		}
	}
	return nil
}
