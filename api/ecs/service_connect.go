package ecs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

const errorNoNamespace = "NamespaceNotFoundException"

// connect is the Service Connect of a service of a cluster after a request: the given one, or what the service had. The definition is that of its
// tasks from then on.
func connect(r *Request, cluster string, given *types.ServiceConnectInput, had *service.Connect, definition *spec.TaskDefinition) (*service.Connect, error) {
	if given == nil {
		return servicedef.ConnectPorts(had, definition)
	}
	if !given.Enabled {
		return nil, nil
	}
	namespace, err := service.Namespace(r.View, cluster)
	if err != nil {
		return nil, connectError(err)
	}
	if named := service.NamespaceName(given.Namespace); named != "" && named != namespace {
		return nil, wire.Errorf(errorNoNamespace, "The services of the cluster %s have their names in the namespace %s, not in %s. Leave namespace out, or have an administrator set serviceConnectDefaults of the cluster.", cluster, namespace, named)
	}
	parsed, err := servicedef.ParseConnect(given, namespace)
	if err != nil {
		return nil, err
	}
	return servicedef.ConnectPorts(parsed, definition)
}

// connectError is ECS's error for a name that a service cannot have; another error stays as it is.
func connectError(err error) error {
	switch {
	case errors.Is(err, service.ErrNamespace):
		return wire.Errorf(errorNoNamespace, "%v.", err)
	case errors.Is(err, service.ErrNameTaken):
		return field.Errorf("serviceConnectConfiguration", "%v.", err)
	}
	return err
}

// connectOf is the Service Connect of a deployment; nil: it has none.
func connectOf(r *Request, d *service.Deployment) *service.Connect {
	if revision := r.View.ServiceRevision(d.ID); revision != nil {
		return revision.Connect
	}
	return nil
}

// askedConnect is the Service Connect of a service as it was asked for; nil: it has none.
func askedConnect(r *Request, s *service.Service) *service.Connect {
	return connectOf(r, s.Primary()).AsRequested()
}

// checkNamespace decides who may give a cluster a namespace, which is its own name when none is given: an administrator of the whole pool, and
// another one if no cluster has it that the key is not for, as services of the cluster may take every name of it. It is the one place that decides so.
func checkNamespace(r *Request, cluster string, given *types.ServiceConnectDefaults) error {
	domain := cluster
	if given != nil && given.Namespace != "" {
		domain = service.NamespaceName(given.Namespace)
		if err := service.CheckDomain(domain); err != nil {
			return field.Errorf("serviceConnectDefaults.namespace", "The namespace %q is not valid: %v.", domain, err)
		}
	}
	if r.KeyClusters == "" {
		return nil
	}
	for _, other := range r.View.Clusters() {
		if has, err := service.Namespace(r.View, other.Name); !r.KeyClusters.Covers(other.Name) && (other.Name == domain || err == nil && has == domain) {
			return wire.Errorf(wire.AccessDenied, "%s may not give the cluster %s the namespace %s: it is that of another cluster. An administrator of the whole pool may.", r.Principal, cluster, domain)
		}
	}
	return nil
}

// listServicesByNamespace lists the services that the caller may see, of all clusters whose namespace it is.
func listServicesByNamespace(_ context.Context, r *Request, in *types.ListServicesByNamespaceInput) (*types.ListServicesByNamespaceOutput, error) {
	domain, known := service.NamespaceName(in.Namespace), false
	var found []*service.Service
	for _, c := range r.View.Clusters() {
		if has, err := service.Namespace(r.View, c.Name); err != nil || has != domain || !r.KeyClusters.Covers(c.Name) {
			continue
		}
		known = true
		for _, s := range r.View.Services(c.Name) {
			if of := askedConnect(r, s); s.Status != service.Inactive && of != nil && of.Namespace == domain && seesService(r, s) {
				found = append(found, s)
			}
		}
	}
	if !known {
		return nil, wire.Errorf(errorNoNamespace, "The namespace %s was not found: a cluster has the namespace of its serviceConnectDefaults, or that of its own name.", in.Namespace)
	}
	arnOf := func(s *service.Service) string { return r.Render().ServiceARN(s.Cluster, s.Name) }
	slices.SortFunc(found, func(a, b *service.Service) int { return strings.Compare(arnOf(a), arnOf(b)) })
	page, next, err := paging.Cut(paging.WithDefault(in.Paging, listedServices), found, false, arnOf)
	if err != nil {
		return nil, err
	}
	out := &types.ListServicesByNamespaceOutput{ServiceARNs: []string{}, NextToken: next}
	for _, s := range page {
		out.ServiceARNs = append(out.ServiceARNs, arnOf(s))
	}
	return out, nil
}
