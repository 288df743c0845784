// Package call is one call of one operation: who calls, the state at that time, and what handlers of every noun do with them.
package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"pinion/api/auth"
	"pinion/api/ecs/arn"
	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/api/ecs/view"
	"pinion/api/exec"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

// Store is the replicated state as operations change it; they read the view of their request.
type Store interface {
	// View is linearizable: it holds every change acknowledged before the call.
	View(ctx context.Context) (*raftfsm.View, error)
	// Propose records a command and returns its answer; refusals are raftfsm's errors, wrapped.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	// Run places and records tasks.
	Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error)
	// Connected reports whether the host has been heard of lately.
	Connected(hostID string) bool
}

// Request is one call of one operation: the caller, and the state at the time of the call. It is used by one goroutine.
type Request struct {
	Region      string           // of every ARN in the output
	Principal   string           // ARN of the caller, recorded as registeredBy
	OnlyHost    string           // the only host that the caller may change; empty when its role is enough for all
	Owner       string           // of the access key of the caller; empty: root
	Grant       accesskey.Grant  // what the caller's key may do within its role and scope
	KeyClusters auth.KeyClusters // the only clusters that the caller's key is for
	Role        accesskey.Role   // of the caller
	Strictness  wire.Strictness  // what becomes of unknown fields
	MaxCount    int              // tasks that one RunTask may ask for
	View        *raftfsm.View    // linearizable: holds everything acknowledged before the request
	Store       Store            // for changes
	Hosts       HostRemover      // for DeregisterContainerInstance; nil where no host can be removed
	Now         func() time.Time // time stamps of records
	TaskCache   *TaskCache       // of all requests of this process; nil: nothing is cached
	Ended       Ended            // tasks that the state has forgotten; nil: they are not known
	Exec        ExecOpener       // for ExecuteCommand; nil: this host opens no sessions
	Warnings    []string         // what was accepted but ignored or rewritten, for people

	renderer *view.Renderer
	rendered *view.Services // likewise of services
}

// Ended is the history of tasks that have ended.
type Ended interface {
	// Task is one task, nil when it is not known.
	Task(id string) (*ended.Task, error)
}

// EndedTask is a task of the cluster in the history, nil when it is not known there.
func (r *Request) EndedTask(cluster, id string) *spec.Task {
	if r.Ended == nil {
		return nil
	}
	found, err := r.Ended.Task(id)
	if err != nil {
		r.Warn("tasks that the pool has forgotten an hour after their end cannot be shown now: %v", err)
	}
	if found == nil || found.Task.Cluster != cluster || !r.Grant.SeesTeam(found.Team()) {
		return nil
	}
	return &found.Task
}

// HostRemover ends a host's membership of the pool.
type HostRemover interface {
	// RemoveHost removes a host for ever. spec.ErrInUse while it has tasks, unless force; spec.ErrNotFound.
	RemoveHost(ctx context.Context, id string, force bool) error
}

// ExecOpener opens exec sessions for the caller of a request.
type ExecOpener interface {
	// Open opens a session on the host of the task, and returns where a client of a data channel connects. Errors are wire.Errors, of the type
	// TargetNotConnectedException when the host does not answer.
	Open(ctx context.Context, host *spec.Host, r exec.Request) (session exec.Session, streamURL string, err error)
}

// TaskCache keeps rendered tasks for all requests of a process; see view.TaskCache.
type TaskCache = view.TaskCache

// Renew has the request begin anew with the state as it is now.
func (r *Request) Renew(ctx context.Context) error {
	view, err := r.Store.View(ctx)
	if err != nil {
		return err
	}
	r.View, r.renderer, r.rendered, r.Warnings = view, nil, nil, nil
	return nil
}

// Render is the renderer of the request's view.
func (r *Request) Render() *view.Renderer {
	if r.renderer == nil {
		r.renderer = &view.Renderer{Region: r.Region, View: r.View, Hosts: r.Store, Now: r.Now}
	}
	return r.renderer
}

// Services renders the services of the request's view.
func (r *Request) Services() *view.Services {
	if r.rendered == nil {
		r.rendered = view.NewServices(r.Render())
	}
	return r.rendered
}

// Warn adds a warning for the caller: an input that was accepted but has not the effect that it seems to have.
func (r *Request) Warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// Cluster finds the cluster that a request is about: a name, an ARN, or nothing for the default one.
func (r *Request) Cluster(given string) (*spec.Cluster, error) {
	parsed, err := arn.Parse(arn.Cluster, cmp.Or(given, spec.DefaultCluster))
	if err != nil {
		return nil, err
	}
	known := r.View.Cluster(parsed.Name)
	if known == nil || known.Status != spec.ClusterActive {
		return nil, ErrNoCluster
	}
	return known, nil
}

// ChangedCluster is a cluster in the output of an operation that changed it: all members but the statistics.
func (r *Request) ChangedCluster(cluster *spec.Cluster) types.Cluster {
	return r.Render().Cluster(cluster, []string{"CONFIGURATIONS", "SETTINGS", "TAGS"})
}

// NamedCluster is Cluster for operations that mean no cluster when they name none.
func (r *Request) NamedCluster(given string) (*spec.Cluster, error) {
	if given == "" {
		return nil, ErrBlankCluster
	}
	return r.Cluster(given)
}

// Refusals of a cluster, in ECS's words.
var (
	ErrNoCluster    = wire.Errorf("ClusterNotFoundException", "Cluster not found.")
	ErrBlankCluster = field.Errorf("cluster", "Cluster can not be blank.")
)

// ParseInCluster reads a name, an id or an ARN of a resource that must belong to the cluster of the request.
func ParseInCluster(cluster, kind, given string) (id string, err error) {
	parsed, err := arn.Parse(kind, given)
	if err != nil {
		return "", err
	}
	if parsed.Cluster != "" && parsed.Cluster != cluster {
		return "", field.Errorf("", "Invalid identifier: Identifier is for cluster %s. Your cluster is %s", parsed.Cluster, cluster)
	}
	return parsed.Name, nil
}

// Apply records a command whose answer is a T.
func Apply[T any](ctx context.Context, r *Request, command raftfsm.Command) (T, error) {
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

// WithType gives a field error one of AWS's types: InvalidParameterException, unless the handler of an operation whose clients
// expect another one has given it that already.
func WithType(errorType string, err error) error {
	wrong, ok := errors.AsType[*field.Error](err)
	if !ok {
		return err
	}
	refusal := wire.Errorf(errorType, "%s", wrong.Message)
	refusal.Path = wrong.Path
	return refusal
}

// NonNil turns a list that is absent into an empty one: where ECS always shows a list, it is [] and not left out.
func NonNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
