package autoscaling

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
)

// Target is the prefix of X-Amz-Target, before the dot and the operation's name; Service is the name in the scope of signatures.
const (
	Target  = "AnyScaleFrontendService"
	Service = "application-autoscaling"
)

// Types of errors, from the service's model.
const (
	invalid          = "ValidationException"
	objectNotFound   = "ObjectNotFoundException"
	resourceNotFound = "ResourceNotFoundException"
	limitExceeded    = "LimitExceededException"
	tooManyTags      = "TooManyTagsException"
)

// Store is the replicated state as operations change it; they read the view of their request.
type Store interface {
	// Propose records a command and returns its answer; refusals are raftfsm's errors, wrapped.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
}

// Request is one request for one operation. It is used by one goroutine.
type Request struct {
	Principal auth.Principal
	View      *raftfsm.View // linearizable
	Store     Store         // for changes
	Now       func() time.Time

	Strictness wire.Strictness // what becomes of unknown members
}

// Operation is one line of the table.
type Operation struct {
	Name   string
	Role   accesskey.Role // least role of the access keys that may call it
	Writes bool           // changes the state
	Scope  auth.Scope
	bind   func(r *Request, body []byte) (Call, error)
}

// Call carries out a request, whose input is decoded and within the scope of the caller's key.
type Call func(ctx context.Context) (any, error)

// Operations is the table, by name.
var Operations = table(
	read("DescribeScalableTargets", auth.PerResource, (*Request).describeScalableTargets),
	read("DescribeScalingPolicies", auth.PerResource, (*Request).describeScalingPolicies),
	read("DescribeScheduledActions", auth.PerResource, (*Request).describeScheduledActions),
	read("DescribeScalingActivities", auth.PerResource, (*Request).describeScalingActivities),
	read("ListTagsForResource", auth.PerResource, (*Request).listTagsForResource),
	read("GetPredictiveScalingForecast", auth.Unscoped, (*Request).getPredictiveScalingForecast),

	change("RegisterScalableTarget", auth.InCluster("ResourceId"), (*Request).registerScalableTarget),
	change("DeregisterScalableTarget", auth.InCluster("ResourceId"), (*Request).deregisterScalableTarget),
	change("PutScalingPolicy", auth.InCluster("ResourceId"), (*Request).putScalingPolicy),
	change("DeleteScalingPolicy", auth.InCluster("ResourceId"), (*Request).deleteScalingPolicy),
	change("PutScheduledAction", auth.InCluster("ResourceId"), (*Request).putScheduledAction),
	change("DeleteScheduledAction", auth.InCluster("ResourceId"), (*Request).deleteScheduledAction),
	change("TagResource", auth.PerResource, (*Request).tagResource),
	change("UntagResource", auth.PerResource, (*Request).untagResource),
)

// Has reports whether there is an operation of that name.
func Has(name string) bool { return Operations[name].Name != "" }

// Find returns the operation of that name, or an error that names the known ones.
func Find(name string) (Operation, error) {
	if found, ok := Operations[name]; ok {
		return found, nil
	}
	return Operation{}, wire.Errorf(wire.UnknownOperation, "pinion: %s is not an operation of Application Auto Scaling: there are %s", name, strings.Join(slices.Sorted(maps.Keys(Operations)), ", "))
}

// IsTarget reports whether the X-Amz-Target of a request names an operation of Application Auto Scaling.
func IsTarget(r *http.Request) bool {
	service, _, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return service == Target
}

// Prepare reads the input of a request. It refuses an input that cannot be read, and one about a cluster that the caller's key is not for.
func (o Operation) Prepare(r *Request, body []byte) (Call, error) { return o.bind(r, body) }

func table(lines ...Operation) map[string]Operation {
	byName := make(map[string]Operation, len(lines))
	for _, line := range lines {
		byName[line.Name] = line
	}
	return byName
}

func read[In, Out any](name string, s auth.Scope, call func(*Request, context.Context, *In) (*Out, error)) Operation {
	return Operation{Name: name, Role: accesskey.RoleRead, Scope: s, bind: func(r *Request, body []byte) (Call, error) {
		in := new(In)
		if err := wire.WithErrorType(invalid, wire.DecodeJSON(body, in, r.Strictness)); err != nil {
			return nil, err
		}
		if err := s.Check(r.Principal, r.View, name, reflect.ValueOf(in).Elem()); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return call(r, ctx, in) }, nil
	}}
}

// change is an operation that changes the state.
func change[In, Out any](name string, s auth.Scope, call func(*Request, context.Context, *In) (*Out, error)) Operation {
	o := read(name, s, call)
	o.Role, o.Writes = accesskey.RoleSubmit, true
	return o
}

func errInvalid(format string, args ...any) *wire.Error { return wire.Errorf(invalid, format, args...) }

type emptyOutput struct{}
