package servicedef

import (
	"slices"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

const connectPath = "serviceConnectConfiguration"

// The seconds that a connection may be silent, at most.
const maxIdleSeconds = 86_400

// ParseConnect reads the Service Connect of a service, whose names are in a namespace; nil for one that is switched off. Its ports are not looked
// up yet.
func ParseConnect(given *types.ServiceConnectInput, namespace string) (*service.Connect, error) {
	if given == nil || !given.Enabled {
		return nil, nil
	}
	c := &service.Connect{Namespace: namespace, NamespaceName: given.Namespace}
	for i := range given.Services {
		e, err := parseEndpoint(field.Index(field.Join(connectPath, "services"), i), &given.Services[i])
		if err != nil {
			return nil, err
		}
		c.Endpoints = append(c.Endpoints, e)
	}
	return c, nil
}

func parseEndpoint(at string, given *types.ServiceConnectServiceInput) (service.Endpoint, error) {
	e := service.Endpoint{PortName: given.PortName, Name: given.DiscoveryName}
	if e.PortName == "" {
		return e, field.Errorf(field.Join(at, "portName"), "The service needs the portName of a port mapping.")
	}
	for i, alias := range given.ClientAliases {
		if alias.Port == nil || *alias.Port < 1 || *alias.Port > 65_535 {
			return e, field.Errorf(field.Join(field.Index(field.Join(at, "clientAliases"), i), "port"), "The port of a client alias must be between 1 and 65535.")
		}
		test, err := parseTestHeader(field.Join(field.Index(field.Join(at, "clientAliases"), i), "testTrafficRules"), alias.TestTrafficRules)
		if err != nil {
			return e, err
		}
		e.Aliases = append(e.Aliases, service.Alias{Name: alias.DnsName, Port: *alias.Port, Test: test})
	}
	if given.Timeout == nil {
		return e, nil
	}
	if idle := given.Timeout.IdleTimeoutSeconds; idle != nil {
		if *idle < 1 || *idle > maxIdleSeconds {
			return e, field.Errorf(field.Join(at, "timeout.idleTimeoutSeconds"), "idleTimeoutSeconds must be between 1 and %d here: every connection has a limit.", maxIdleSeconds)
		}
		e.IdleSeconds = idle
	}
	if whole := given.Timeout.PerRequestTimeoutSeconds; whole != nil {
		if *whole < 0 || *whole > maxIdleSeconds {
			return e, field.Errorf(field.Join(at, "timeout.perRequestTimeoutSeconds"), "perRequestTimeoutSeconds must be between 0, which is no limit, and %d.", maxIdleSeconds)
		}
		e.RequestSeconds = *whole
	}
	return e, nil
}

// headerName is the name of a header of HTTP, a token.
var headerName = lazyregexp.New("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$")

// maxHeaderValue is the length of a header's value that test traffic has, at most.
const maxHeaderValue = 1_024

// parseTestHeader reads which requests are test traffic; nil: none are.
func parseTestHeader(at string, given *types.ServiceConnectTestInput) (*service.TestHeader, error) {
	if given == nil {
		return nil, nil
	}
	at = field.Join(at, "header")
	header := given.Header
	if header == nil || !headerName.MatchString(header.Name) {
		return nil, field.Errorf(field.Join(at, "name"), "testTrafficRules needs the name of a header, of up to 256 letters, digits and hyphens.")
	}
	if header.Value == nil {
		return &service.TestHeader{Name: header.Name}, nil
	}
	if exact := header.Value.Exact; exact == nil || len(*exact) > maxHeaderValue {
		return nil, field.Errorf(field.Join(at, "value.exact"), "The value of a header of testTrafficRules needs exact, of up to %d bytes.", maxHeaderValue)
	}
	return &service.TestHeader{Name: header.Name, Exact: header.Value.Exact}, nil
}

// ConnectPorts is a Service Connect with the ports that a definition has for its endpoints. It refuses one that has not, and names that are none.
func ConnectPorts(c *service.Connect, d *spec.TaskDefinition) (*service.Connect, error) {
	if c == nil {
		return nil, nil
	}
	found := *c
	found.Endpoints = nil
	for i, e := range c.Endpoints {
		at := field.Join(field.Index(field.Join(connectPath, "services"), i), "portName")
		mapping, container := portNamed(d, e.PortName)
		switch {
		case d.NetworkMode == "none":
			return nil, field.Errorf(at, "The task definition has the network mode none: its tasks cannot be reached.")
		case mapping == nil:
			return nil, field.Errorf(at, "The port name %s does not exist in the task definition %s: name one of its portMappings so.", e.PortName, d.Name())
		case mapping.Protocol == "udp":
			return nil, field.Errorf(at, "The port %s of the task definition %s is a UDP port, and Service Connect carries TCP.", e.PortName, d.Name())
		case mapping.ContainerPortRange != "":
			return nil, field.Errorf(at, "The port %s of the task definition %s is a range of ports, and a name of Service Connect leads to one: name a port with a containerPort so.", e.PortName, d.Name())
		}
		if mapping.AppProtocol == "" && e.RequestSeconds > 0 {
			return nil, field.Errorf(field.Join(field.Index(field.Join(connectPath, "services"), i), "timeout.perRequestTimeoutSeconds"), "The port name %s has no appProtocol in the task definition %s, so its connections are of TCP, and perRequestTimeoutSeconds is for requests. Set idleTimeoutSeconds.", e.PortName, d.Name())
		}
		if mapping.AppProtocol == "" && slices.ContainsFunc(e.Aliases, func(a service.Alias) bool { return a.Test != nil }) {
			return nil, field.Errorf(field.Join(field.Index(field.Join(connectPath, "services"), i), "clientAliases"), "The port name %s has no appProtocol in the task definition %s, so its connections are of TCP, and testTrafficRules is for requests.", e.PortName, d.Name())
		}
		e.Container, e.Port, e.Protocol = container, mapping.ContainerPort, mapping.AppProtocol
		found.Endpoints = append(found.Endpoints, e)
	}
	if err := found.Check(); err != nil {
		return nil, field.Errorf(connectPath, "%v.", err)
	}
	return &found, nil
}

// portNamed is the port mapping of a name and its container; nil when the definition has none.
func portNamed(d *spec.TaskDefinition, name string) (*spec.PortMapping, string) {
	for i := range d.Containers {
		for j := range d.Containers[i].PortMappings {
			if p := &d.Containers[i].PortMappings[j]; p.Name == name {
				return p, d.Containers[i].Name
			}
		}
	}
	return nil, ""
}
