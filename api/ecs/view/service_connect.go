package view

import (
	"pinion/api/ecs/types"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// serviceConnect is the Service Connect of a revision as it was given; nil has none.
func serviceConnect(of *service.Revision) *types.ServiceConnectConfiguration {
	if of == nil || of.Connect == nil {
		return nil
	}
	out := &types.ServiceConnectConfiguration{Enabled: true, Namespace: of.Connect.NamespaceName}
	if out.Namespace == "" {
		out.Namespace = of.Connect.Namespace
	}
	for i := range of.Connect.Endpoints {
		e := &of.Connect.Endpoints[i]
		one := types.ServiceConnectService{PortName: e.PortName, DiscoveryName: e.Name}
		for _, alias := range e.Aliases {
			shown := types.ServiceConnectClientAlias{Port: alias.Port, DnsName: alias.Name}
			if alias.Test != nil {
				shown.TestTrafficRules = testRules(alias.Test)
			}
			one.ClientAliases = append(one.ClientAliases, shown)
		}
		if e.IdleSeconds != nil || e.RequestSeconds > 0 {
			one.Timeout = &types.TimeoutConfiguration{PerRequestTimeoutSeconds: e.RequestSeconds}
		}
		if e.IdleSeconds != nil {
			one.Timeout.IdleTimeoutSeconds = *e.IdleSeconds
		}
		out.Services = append(out.Services, one)
	}
	return out
}

func testRules(h *service.TestHeader) *types.ServiceConnectTestTrafficRules {
	header := types.ServiceConnectTestTrafficHeaderRules{Name: h.Name}
	if h.Exact != nil {
		header.Value = &types.ServiceConnectTestTrafficHeaderMatchRules{Exact: *h.Exact}
	}
	return &types.ServiceConnectTestTrafficRules{Header: header}
}

// connectResources are the discovery names of a revision. There is no AWS Cloud Map behind their ARNs.
func (v *Services) connectResources(of *service.Revision) (all []types.ServiceConnectServiceResource) {
	if of == nil || of.Connect == nil {
		return nil
	}
	for i := range of.Connect.Endpoints {
		name := of.Connect.Discovery(&of.Connect.Endpoints[i])
		all = append(all, types.ServiceConnectServiceResource{
			DiscoveryName: name, DiscoveryARN: "arn:aws:servicediscovery:" + v.r.Region + ":" + spec.AccountID + ":service/" + name,
		})
	}
	return all
}
