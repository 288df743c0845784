package call

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"pinion/api/ecs/servicedef"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Lengths of ids, as on ECS.
const (
	rolloutIDLength = 21
	firstOf19Digits = 1_000_000_000_000_000_000
	idBytes         = 16
)

// NewService is a service without settings of the caller: what it creates is vouched for, and counts, as the caller's own.
func NewService(r *Request, cluster, name string) service.Service {
	s := service.Service{
		ID: newHexID(), Cluster: cluster, Name: name, CreatedAt: r.Now(), CreatedBy: r.Principal, ByAdmin: r.Role == accesskey.RoleAdmin,
		Settings: service.Settings{PropagateTags: servicedef.NoTags, Rebalancing: service.NotRebalanced},
	}
	if r.Owner != "" {
		s.Owner = &spec.TaskOwner{Key: r.Owner}
	}
	return s
}

// NewDeployment makes the records of a new deployment of a service.
func NewDeployment(r *Request, s *service.Service, definition *spec.TaskDefinition, launchType string) (*service.Revision, *service.Rollout) {
	at := r.Now()
	revision := &service.Revision{
		ID: NewDeploymentID(), ServiceID: s.ID, Cluster: s.Cluster, Service: s.Name, Definition: definition.Name(), LaunchType: launchType,
		Providers: s.Settings.Providers, CreatedAt: at,
	}
	rollout := &service.Rollout{
		ID: rand.Text()[:rolloutIDLength], ServiceID: s.ID, Cluster: s.Cluster, Service: s.Name, Status: service.RolloutInProgress,
		Target: service.RevisionCount{Revision: revision.ID, Requested: s.Desired}, Configuration: s.Settings.Deployment, Threshold: s.Threshold(),
		CreatedAt: at, StartedAt: at, UpdatedAt: at,
	}
	return revision, rollout
}

func newHexID() string {
	var id [idBytes]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// NewDeploymentID is 19 digits.
func NewDeploymentID() string {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return strconv.FormatUint(firstOf19Digits+binary.BigEndian.Uint64(random[:])%(9*firstOf19Digits), 10)
}
