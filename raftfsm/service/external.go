package service

import (
	"errors"
	"fmt"
	"slices"

	"pinion/raftfsm/spec"
)

// External is the deployment controller of services whose deployments are task sets: somebody else makes them, scales each to a part of Desired,
// and says which one is PRIMARY. Nothing replaces one by another.
const External = "EXTERNAL"

// MaxTaskSets of a service, ECS's; those that are DRAINING count.
const MaxTaskSets = 5

// Why a service of the one controller is not changed like one of the other. They are wrapped with its name.
var (
	ErrExternal    = errors.New("its deployments are task sets: create another one")
	ErrNotExternal = fmt.Errorf("it has no task sets, as its deployment controller is not %s", External)
	ErrHasTaskSets = fmt.Errorf("%w: it has task sets: delete them first, or use force", spec.ErrInUse)
)

// IsExternal reports whether the deployments of the service are task sets.
func (s *Service) IsExternal() bool { return s.Controller == External }

// DesiredDeployments are the deployments whose tasks the service is to have: the PRIMARY one, or the task sets that are not deleted.
func (s *Service) DesiredDeployments() []Deployment {
	if !s.IsExternal() {
		return s.Deployments[:1]
	}
	return slices.DeleteFunc(slices.Clone(s.Deployments), func(d Deployment) bool { return d.Status == DrainingSet })
}

// Groups are the ids of the target groups that tasks which the service is to have are registered with; see Revision.Groups.
func (s *Service) Groups(p interface{ ServiceRevision(id string) *Revision }) (ids []string) {
	for _, d := range s.DesiredDeployments() {
		if revision := p.ServiceRevision(d.ID); revision != nil {
			ids = append(ids, revision.Groups()...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
