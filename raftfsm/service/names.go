package service

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pinion/raftfsm/spec"
)

// Pool is the services of a pool, for checks of names.
type Pool interface {
	Clusters() []*spec.Cluster
	Services(cluster string) []*Service // of all clusters when it is empty
	ServiceRevision(id string) *Revision
}

// Why a service cannot have a name. They are wrapped with what they are about.
var (
	ErrNameTaken = fmt.Errorf("%w: another service has the name", spec.ErrInUse)
	ErrNamespace = errors.New("the namespace is not that of the cluster")
)

// Namespace is the one namespace of a cluster, in which its services have their names and which its hosts resolve: that of its
// serviceConnectDefaults, which several clusters may have, or its own name. Whoever may create services in a cluster may take every name of it
// that is free, and none of another. ErrNamespace when the cluster has none: its name is no domain.
func Namespace(p Pool, cluster string) (string, error) {
	all := p.Clusters()
	i := slices.IndexFunc(all, func(c *spec.Cluster) bool { return c.Name == cluster })
	if i < 0 {
		return "", fmt.Errorf("cluster %s: %w", cluster, spec.ErrNotFound)
	}
	domain := cmp.Or(NamespaceName(all[i].Namespace), cluster)
	if err := CheckDomain(domain); err != nil {
		return "", fmt.Errorf("%w: %q is no domain (%w): an administrator sets serviceConnectDefaults of the cluster %s", ErrNamespace, domain, err, cluster)
	}
	return domain, nil
}

// NamespaceName is the name of a namespace that is given by its name or its ARN.
func NamespaceName(given string) string {
	if strings.HasPrefix(given, "arn:") {
		return given[strings.LastIndex(given, "/")+1:]
	}
	return given
}

// HoldNames has a service hold the names of the revisions that it has deployments of, and no others. Each new one gets the lowest number that is
// free. ErrNameTaken, ErrNamespace, spec.ErrLimit.
func (s *Service) HoldNames(p Pool) error {
	missing := s.LeaveNames(p)
	if len(missing) == 0 {
		return nil
	}
	connect := p.ServiceRevision(s.Primary().ID).Connect // the others were held before
	if domain, err := Namespace(p, s.Cluster); err != nil {
		return err
	} else if connect == nil || connect.Namespace != domain {
		return fmt.Errorf("%w %s: name %s, or nothing", ErrNamespace, s.Cluster, domain)
	}
	if err := connect.Check(); err != nil {
		return err
	}
	holders, used := map[string]*Service{}, map[int]bool{}
	for _, other := range append(p.Services(""), s) {
		if other.Status == Inactive || other != s && other.ID == s.ID {
			continue
		}
		for _, n := range other.Names {
			holders[n.Name], used[n.Number] = other, true
		}
	}
	if len(holders)+len(missing) > MaxNames {
		return fmt.Errorf("%w: the services of a pool may have %d names", spec.ErrLimit, MaxNames)
	}
	number, names := firstNumber, slices.Clone(s.Names)
	for _, name := range missing {
		if holder := holders[name]; holder != nil {
			return fmt.Errorf("%s: %w: %s in the cluster %s: choose another discoveryName or dnsName", name, ErrNameTaken, holder.Name, holder.Cluster)
		}
		for used[number] {
			number++
		}
		used[number] = true
		names = append(names, Name{name, number})
	}
	s.Names = names
	return nil
}

// LeaveNames has a service hold no names any more that none of its deployments has, and returns those that it has not got yet.
func (s *Service) LeaveNames(p Pool) (missing []string) {
	wanted := map[string]bool{}
	for i := range s.Deployments {
		revision := p.ServiceRevision(s.Deployments[i].ID)
		if revision == nil || revision.Connect == nil {
			continue
		}
		for j := range revision.Connect.Endpoints {
			e := &revision.Connect.Endpoints[j]
			wanted[revision.Connect.Discovery(e)] = true
			for _, a := range revision.Connect.Addresses(e) {
				wanted[a.Name] = true
			}
		}
	}
	var kept []Name
	for _, n := range s.Names {
		if wanted[n.Name] {
			kept = append(kept, n)
			delete(wanted, n.Name)
		}
	}
	s.Names = kept
	return slices.Sorted(maps.Keys(wanted))
}

// Number is the number of the virtual address of a name; 0: the service does not hold it.
func (s *Service) Number(name string) int {
	if i := slices.IndexFunc(s.Names, func(n Name) bool { return n.Name == name }); i >= 0 {
		return s.Names[i].Number
	}
	return 0
}
