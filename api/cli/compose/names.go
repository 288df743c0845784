package compose

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"pinion/api/client"
	rolling "pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// connectMember is the member of CreateService that gives a service its names.
const connectMember = "serviceConnectConfiguration"

// setExposed adds the ports that only other services are to reach: any free port of the host leads to each.
func setExposed(container *spec.ContainerDefinition, s types.ServiceConfig) error {
	has := map[int]bool{}
	for _, p := range container.PortMappings {
		has[p.ContainerPort] = true
	}
	for _, given := range s.Expose {
		number, protocol, _ := strings.Cut(given, "/")
		port, err := strconv.ParseUint(number, 10, 16)
		if err != nil || port == 0 {
			return fmt.Errorf("expose: %q is not one port", given)
		}
		if !has[int(port)] {
			container.PortMappings = append(container.PortMappings, spec.PortMapping{ContainerPort: int(port), Protocol: protocol})
		}
		has[int(port)] = true
	}
	return nil
}

// setNames has the tasks of the cluster reach the TCP ports of a service by its name in the file, at the ports of the container as with Docker, and by
// its name in the cluster. Names that no domain can have are left out.
func (made *service) setNames(s types.ServiceConfig) {
	if isLabel(s.Name) && isLabel(made.name) {
		made.settings[connectMember] = connect(made.definition.Containers[0].PortMappings, made.name, s.Name)
	}
}

func isLabel(name string) bool {
	return !strings.Contains(name, ".") && rolling.CheckDomain(strings.ToLower(name)) == nil
}

// connect is the Service Connect of ports, to each of which it gives a name if it has none. The first one is called by the name in the cluster, others have their number
// behind it; with an alias all are called so, too.
func connect(ports []spec.PortMapping, name, alias string) map[string]any {
	endpoints, seen := []any{}, map[int]bool{}
	for i := range ports {
		p := &ports[i]
		if p.Protocol == "udp" || seen[p.ContainerPort] {
			continue
		}
		seen[p.ContainerPort] = true
		if p.Name == "" {
			p.Name = fmt.Sprintf("tcp-%d", p.ContainerPort)
		}
		discovery, client := name, map[string]any{"port": p.ContainerPort}
		if len(endpoints) > 0 {
			discovery = fmt.Sprintf("%s-%d", name, p.ContainerPort)
		}
		if alias != "" {
			client["dnsName"] = alias
		}
		endpoints = append(endpoints, map[string]any{"portName": p.Name, "discoveryName": discovery, "clientAliases": []any{client}})
	}
	return map[string]any{"enabled": len(endpoints) > 0, "services": endpoints}
}

// lessNames are the settings with which a service can be had though its names were refused, and what its names are then; nil when something else was.
func (made *service) lessNames(err error) (settings map[string]any, note string) {
	refused, _ := errors.AsType[*client.APIError](err)
	settings = maps.Clone(made.settings)
	switch {
	case refused == nil || settings[connectMember] == nil:
		return nil, ""
	case refused.Type == "NamespaceNotFoundException":
		delete(settings, connectMember)
		return settings, fmt.Sprintf("%s has no names: %s", made.name, refused.Message)
	case strings.Contains(refused.Message, rolling.ErrNameTaken.Error()):
		settings[connectMember] = connect(made.definition.Containers[0].PortMappings, made.name, "")
		return settings, fmt.Sprintf("another project has the name in the file: tasks reach this service as %s alone", made.name)
	}
	return nil, ""
}
