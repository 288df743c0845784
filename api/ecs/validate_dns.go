package ecs

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// domainName is a host name or a domain: labels of letters, digits and hyphens with dots between them.
var domainName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}))*\.?$`)

// checkDNS holds the rules for how a container is called and whom it asks for names.
func checkDNS(c *spec.ContainerDefinition) error {
	if c.Hostname != "" && (!domainName.MatchString(c.Hostname) || len(c.Hostname) > 64) {
		return wire.Errorf(wire.Client, "Container '%s': hostname %q must be a host name of at most 64 characters.", c.Name, c.Hostname)
	}
	for _, entry := range c.ExtraHosts {
		if _, err := netip.ParseAddr(entry.IPAddress); err != nil || !domainName.MatchString(entry.Hostname) {
			return wire.Errorf(wire.Client, "Container '%s': extraHosts must have a hostname and an ipAddress, not %q and %q.", c.Name, entry.Hostname, entry.IPAddress)
		}
	}
	for _, server := range c.DNSServers {
		if _, err := netip.ParseAddr(server); err != nil {
			return wire.Errorf(wire.Client, "Container '%s': dnsServers must hold IP addresses, not %q.", c.Name, server)
		}
	}
	for _, domain := range c.DNSSearchDomains {
		if !domainName.MatchString(domain) {
			return wire.Errorf(wire.Client, "Container '%s': dnsSearchDomains must hold domain names, not %q.", c.Name, domain)
		}
	}
	return nil
}

// ipcControls are the kernel parameters of the namespace for System V IPC and POSIX message queues.
var ipcControls = []string{"kernel.msgmax", "kernel.msgmnb", "kernel.msgmni", "kernel.sem", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced"}

// checkSystemControls lets a container change kernel parameters of namespaces that are its own.
func checkSystemControls(c *spec.ContainerDefinition, networkMode, ipcMode string) error {
	for _, control := range c.SystemControls {
		name := control.Namespace
		network := strings.HasPrefix(name, "net.")
		messages := strings.HasPrefix(name, "fs.mqueue.") || slices.Contains(ipcControls, name)
		switch {
		case !network && !messages:
			return wire.Errorf(wire.Client, "Container '%s': systemControls.namespace must be net.*, fs.mqueue.* or one of %s, not %q.", c.Name, strings.Join(ipcControls, ", "), name)
		case network && networkMode == "host":
			return wire.Errorf(wire.Client, "Container '%s': systemControls %s is not allowed with networkMode host: it would change the host.", c.Name, name)
		case messages && ipcMode == "host":
			return wire.Errorf(wire.Client, "Container '%s': systemControls %s is not allowed with ipcMode host: it would change the host.", c.Name, name)
		case control.Value == "" || strings.ContainsAny(name, "/\x00") || strings.Contains(control.Value, "\x00"):
			return wire.Errorf(wire.Client, "Container '%s': systemControls %q needs a value.", c.Name, name)
		}
	}
	return nil
}

// checkVersionConsistency: images are pulled by the tag that the definition has, as ECS does when this is disabled.
func checkVersionConsistency(c *spec.ContainerDefinition) error {
	switch c.VersionConsistency {
	case "", "disabled":
		return nil
	case "enabled":
		return wire.Errorf(wire.Client, "Container '%s': versionConsistency enabled is not supported by Pinion yet: name the image by its digest, or set it to disabled.", c.Name)
	}
	return wire.Errorf(wire.Client, "Container '%s': versionConsistency must be enabled or disabled, not %q.", c.Name, c.VersionConsistency)
}
