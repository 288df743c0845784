package spec

import (
	"context"
	"errors"
)

// RunRequest asks for Count tasks of one definition in one cluster: ECS's RunTask, and StartTask when Hosts is set.
// The caller has validated it; Overrides name only containers that exist.
type RunRequest struct {
	Cluster     string
	Key         string   // owner of the caller's access key, whose limits count; empty: root
	Definition  string   // family:revision, ACTIVE
	Count       int      // tasks wanted; ignored when Hosts is set
	Hosts       []string // StartTask: one task on each of these hosts, no choice
	Group       string
	StartedBy   string
	LaunchType  string
	Overrides   TaskOverride
	Tags        []Tag
	ClientToken string // client token, empty when the client sent none
	RequestHash string // digest of the request's parameters, to tell a retry from a different request
	ByAdmin     bool   // the caller's role is admin; see package isolation
	Exec        bool   // see Task.Exec

	Signatures []Signature // of the signed request without a client token; recorded beside the tasks

	Constraints []PlacementConstraint // beside those of the definition; all have to be met. StartTask has none: it names the hosts
	Strategy    []PlacementStrategy   // the first decides, the next among its equals; empty: Pinion's own order of hosts

	CapacityProvider string // the queue that the tasks wait in; empty: what has no place fails at once
	ArrayFrom        *int   // of an array: the index of the first of the Count tasks; nil: they have none

	Hold *TaskHold // of tasks that wait: they are held from the beginning
}

// RunResult is the outcome, task by task: what was placed and why the rest was not.
type RunResult struct {
	Tasks    []*Task   `json:"tasks"`
	Failures []Failure `json:"failures"`

	// Infeasible is the failure that says why no host of the cluster could ever run the tasks, which wait for another host; nil when one could. It is never
	// recorded: hosts come and go.
	Infeasible *Failure `json:"-"`
}

// Failure is ECS's failure: the host that was considered (empty when none was), a reason that clients match
// literally ("RESOURCE:GPU"), and a detail for people.
type Failure struct {
	HostID string `json:"hostId,omitempty"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// Reasons of failures, verbatim from ECS.
const (
	ReasonCPU        = "RESOURCE:CPU"
	ReasonMemory     = "RESOURCE:MEMORY"
	ReasonGPU        = "RESOURCE:GPU"
	ReasonPorts      = "RESOURCE:PORTS"
	ReasonAgent      = "AGENT"
	ReasonAttribute  = "ATTRIBUTE"
	ReasonMissing    = "MISSING"
	ReasonInactive   = "INACTIVE"
	ReasonConstraint = "MemberOf placement constraint unsatisfied."         // full stop included
	ReasonDistinct   = "DistinctInstance placement constraint unsatisfied." // the same
)

// Errors that a run or a command can be refused with. They are wrapped with %w and the object's name; api has the
// table that turns them into ECS's.
var (
	ErrNotFound            = errors.New("not found")
	ErrNoHosts             = errors.New("no hosts in the cluster")
	ErrInactive            = errors.New("inactive")
	ErrClientTokenConflict = errors.New("client token was used with other parameters")
	ErrInUse               = errors.New("in use")
	// ErrKeyRemoved: the access key of the request was removed while it was under way.
	ErrKeyRemoved = errors.New("was removed")
	// ErrUnavailable: nothing is wrong with the request, the pool cannot serve it now (no leader, disk full); try again.
	ErrUnavailable = errors.New("unavailable, try again")
)

// ClientTokenConflict is ErrTokenConflict with the tasks that the token started.
type ClientTokenConflict struct{ TaskIDs []string }

func (e *ClientTokenConflict) Error() string { return ErrClientTokenConflict.Error() }

// Unwrap makes errors.Is(err, ErrTokenConflict) true.
func (e *ClientTokenConflict) Unwrap() error { return ErrClientTokenConflict }

// Signature is that of one signed request; no other request has it.
type Signature [32]byte

type signaturesKey struct{}

// WithSignatures returns a context whose changes are recorded together with the signatures of the requests that ask for them.
func WithSignatures(ctx context.Context, signatures ...Signature) context.Context {
	if len(signatures) == 0 {
		return ctx
	}
	return context.WithValue(ctx, signaturesKey{}, signatures)
}

// SignaturesOf returns the signatures of WithSignatures.
func SignaturesOf(ctx context.Context) []Signature {
	signatures, _ := ctx.Value(signaturesKey{}).([]Signature)
	return signatures
}
