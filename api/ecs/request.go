package ecs

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"pinion/api/auth"
	"pinion/api/ecs/arn"
	"pinion/api/ecs/field"
	"pinion/api/ecs/view"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

// Store is the replicated state as operations change it; they read the view of their request.
type Store interface {
	// Propose records a command and returns its answer; refusals are raftfsm's errors, wrapped.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	// Run places and records tasks.
	Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error)
	// Connected reports whether the host has been heard of lately.
	Connected(hostID string) bool
}

// Request is one call of one operation: the caller, and the state at the time of the call. It is used by one goroutine.
type Request struct {
	Region     string            // of every ARN in the output
	Principal  string            // ARN of the caller, recorded as registeredBy
	OnlyHost   string            // the only host that the caller may change; empty when its role is enough for all
	Holder     string            // of the access key of the caller; empty: root
	Grant      spec.KeyGrant     // what the caller's key may do within its role and scope
	Scope      auth.ClusterScope // the only clusters that the caller's key is for
	Role       spec.Role         // of the caller
	Strictness wire.Strictness   // what becomes of unknown fields
	MaxCount   int               // tasks that one RunTask may ask for
	View       *raftfsm.View     // linearizable: holds everything acknowledged before the request
	Store      Store             // for changes
	Hosts      HostRemover       // for DeregisterContainerInstance; nil where no host can be removed
	Now        func() time.Time  // time stamps of records
	TaskCache  *TaskCache        // of all requests of this process; nil: nothing is cached
	Ended      Ended             // tasks that the state has forgotten; nil: they are not known
	Warnings   []string          // what was accepted but ignored or rewritten, for people

	renderer *view.Renderer
	rendered *view.Services // likewise of services
}

// Ended is the history of tasks that have ended.
type Ended interface {
	// Task is one task, nil when it is not known.
	Task(id string) (*ended.Task, error)
}

// endedTask is a task of the cluster in the history, nil when it is not known there.
func (r *Request) endedTask(cluster, id string) *spec.Task {
	if r.Ended == nil {
		return nil
	}
	found, err := r.Ended.Task(id)
	if err != nil {
		r.warn("tasks that the pool has forgotten an hour after their end cannot be shown now: %v", err)
	}
	if found == nil || found.Task.Cluster != cluster || !r.Grant.SeesTeam(found.Team()) {
		return nil
	}
	return &found.Task
}

// TaskCache keeps rendered tasks for all requests of a process; see view.TaskCache.
type TaskCache = view.TaskCache

// render is the renderer of the request's view.
func (r *Request) render() *view.Renderer {
	if r.renderer == nil {
		r.renderer = &view.Renderer{Region: r.Region, View: r.View, Hosts: r.Store, Now: r.Now}
	}
	return r.renderer
}

// services renders the services of the request's view.
func (r *Request) services() *view.Services {
	if r.rendered == nil {
		r.rendered = view.NewServices(r.render())
	}
	return r.rendered
}

// warn adds a warning for the caller: an input that was accepted but has not the effect that it seems to have.
func (r *Request) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// cluster finds the cluster that a request is about: a name, an ARN, or nothing for the default one.
func (r *Request) cluster(given string) (*spec.Cluster, error) {
	parsed, err := arn.Parse(arn.Cluster, cmp.Or(given, spec.DefaultCluster))
	if err != nil {
		return nil, err
	}
	known := r.View.Cluster(parsed.Name)
	if known == nil || known.Status != spec.ClusterActive {
		return nil, errNoCluster
	}
	return known, nil
}

// namedCluster is cluster for operations that mean no cluster when they name none.
func (r *Request) namedCluster(given string) (*spec.Cluster, error) {
	if given == "" {
		return nil, errBlankCluster
	}
	return r.cluster(given)
}

var (
	errNoCluster    = wire.Errorf("ClusterNotFoundException", "Cluster not found.")
	errBlankCluster = field.Errorf("cluster", "Cluster can not be blank.")
)

// parseInCluster reads a name, an id or an ARN of a resource that must belong to the cluster of the request.
func parseInCluster(cluster, kind, given string) (id string, err error) {
	parsed, err := arn.Parse(kind, given)
	if err != nil {
		return "", err
	}
	if parsed.Cluster != "" && parsed.Cluster != cluster {
		return "", field.Errorf("", "Invalid identifier: Identifier is for cluster %s. Your cluster is %s", parsed.Cluster, cluster)
	}
	return parsed.Name, nil
}

// apply records a command whose answer is a T.
func apply[T any](ctx context.Context, r *Request, command raftfsm.Command) (T, error) {
	var zero T
	answer, err := r.Store.Propose(ctx, command)
	if err != nil {
		return zero, err
	}
	typed, ok := answer.(T)
	if !ok {
		return zero, fmt.Errorf("the answer to %T is a %T, not a %T", command, answer, zero)
	}
	return typed, nil
}

// nonNil turns a list that is absent into an empty one: where ECS always shows a list, it is [] and not left out.
func nonNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
