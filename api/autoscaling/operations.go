package autoscaling

import (
	"context"
	"maps"
	"net/http"
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
	run    func(ctx context.Context, r *Request, body []byte) (any, error)
}

// operations is the table, by name.
var operations = table(
	read("DescribeScalableTargets", (*Request).describeScalableTargets),
	read("DescribeScalingPolicies", (*Request).describeScalingPolicies),
	read("DescribeScheduledActions", (*Request).describeScheduledActions),
	read("DescribeScalingActivities", (*Request).describeScalingActivities),
	read("ListTagsForResource", (*Request).listTagsForResource),
	read("GetPredictiveScalingForecast", (*Request).getPredictiveScalingForecast),

	change("RegisterScalableTarget", (*Request).registerScalableTarget),
	change("DeregisterScalableTarget", (*Request).deregisterScalableTarget),
	change("PutScalingPolicy", (*Request).putScalingPolicy),
	change("DeleteScalingPolicy", (*Request).deleteScalingPolicy),
	change("PutScheduledAction", (*Request).putScheduledAction),
	change("DeleteScheduledAction", (*Request).deleteScheduledAction),
	change("TagResource", (*Request).tagResource),
	change("UntagResource", (*Request).untagResource),
)

// Has reports whether there is an operation of that name.
func Has(name string) bool { return operations[name].Name != "" }

// Find returns the operation of that name, or an error that names the known ones.
func Find(name string) (Operation, error) {
	if found, ok := operations[name]; ok {
		return found, nil
	}
	return Operation{}, wire.Errorf(wire.UnknownOperation, "pinion: %s is not an operation of Application Auto Scaling: there are %s", name, strings.Join(slices.Sorted(maps.Keys(operations)), ", "))
}

// IsTarget reports whether the X-Amz-Target of a request names an operation of Application Auto Scaling.
func IsTarget(r *http.Request) bool {
	service, _, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return service == Target
}

// Run decodes the input of a request and answers it.
func (o Operation) Run(ctx context.Context, r *Request, body []byte) (any, error) {
	return o.run(ctx, r, body)
}

func table(lines ...Operation) map[string]Operation {
	byName := make(map[string]Operation, len(lines))
	for _, line := range lines {
		byName[line.Name] = line
	}
	return byName
}

func read[In, Out any](name string, call func(*Request, context.Context, *In) (*Out, error)) Operation {
	return Operation{Name: name, Role: accesskey.RoleRead, run: func(ctx context.Context, r *Request, body []byte) (any, error) {
		in := new(In)
		if err := wire.Retyped(invalid, wire.DecodeJSON(body, in, r.Strictness)); err != nil {
			return nil, err
		}
		return call(r, ctx, in)
	}}
}

// change is an operation that changes the state.
func change[In, Out any](name string, call func(*Request, context.Context, *In) (*Out, error)) Operation {
	o := read(name, call)
	o.Role, o.Writes = accesskey.RoleSubmit, true
	return o
}

func errInvalid(format string, args ...any) *wire.Error { return wire.Errorf(invalid, format, args...) }

type emptyOutput struct{}
