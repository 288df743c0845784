package cloudwatch

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

// Service is the name in the scope of signatures, Version that of the query protocol, and Target the prefix of X-Amz-Target and the service in
// the paths of CBOR.
const (
	Service = "monitoring"
	Version = "2010-08-01"
	Target  = "GraniteServiceVersion20100801"
)

// Types of errors, from the service's model, and the one of AWS's query protocol.
const (
	invalid          = "ValidationError"
	notFound         = "ResourceNotFound"
	resourceNotFound = "ResourceNotFoundException"
	limitExceeded    = "LimitExceeded"
	invalidNextToken = "InvalidNextToken"
	concurrentChange = "ConcurrentModificationException"
)

// Store is the replicated state as operations change it; they read the view of their request.
type Store interface {
	// Propose records a command and returns its answer; refusals are raftfsm's errors, wrapped.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
}

// Request is one request for one operation. It is used by one goroutine.
type Request struct {
	ID        string
	Principal auth.Principal
	View      *raftfsm.View // linearizable
	Store     Store         // for changes
	Now       func() time.Time
}

// Operation is one line of the table.
type Operation struct {
	Name   string
	Role   accesskey.Role // least role of the access keys that may call it
	Writes bool           // changes the state
	Scope  auth.Scope
	input  reflect.Type
	run    func(ctx context.Context, r *Request, in any) (any, error)
}

// Operations is the table, by name. An alarm is of the service that it watches.
var Operations = table(
	read("DescribeAlarms", auth.PerResource, (*Request).describeAlarms),
	read("DescribeAlarmsForMetric", auth.PerResource, (*Request).describeAlarmsForMetric),
	read("ListTagsForResource", auth.PerResource, (*Request).listTagsForResource),

	change("PutMetricAlarm", auth.PerResource, (*Request).putMetricAlarm),
	change("DeleteAlarms", auth.PerResource, (*Request).deleteAlarms),
	change("TagResource", auth.PerResource, (*Request).tagResource),
	change("UntagResource", auth.PerResource, (*Request).untagResource),
)

// Find returns the operation of that name, or an error that names the known ones.
func Find(name string) (Operation, error) {
	if found, ok := Operations[name]; ok {
		return found, nil
	}
	return Operation{Role: accesskey.RoleRead}, wire.Errorf("InvalidAction", "pinion: %s is not supported: of Amazon CloudWatch there are metric alarms that start step scaling policies: %s", name, strings.Join(slices.Sorted(maps.Keys(Operations)), ", "))
}

// IsTarget reports whether the X-Amz-Target of a request names an operation of CloudWatch.
func IsTarget(r *http.Request) bool {
	service, _, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return service == Target
}

// PathPattern is where CBOR has the operations.
const PathPattern = "POST /service/" + Target + "/operation/{operation}"

// IsPath reports whether the path of a request names an operation of CloudWatch, as CBOR has it.
func IsPath(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/service/"+Target+"/") }

// Run decodes the input of a request, and answers it with the text of the response.
func (o Operation) Run(ctx context.Context, r *Request, p Protocol, body []byte) ([]byte, error) {
	in := reflect.New(o.input).Interface()
	if err := p.decode(body, in); err != nil {
		return nil, err
	}
	out, err := o.run(ctx, r, in)
	if err != nil {
		return nil, err
	}
	return p.encode(o.Name, out, r.ID)
}

func table(lines ...Operation) map[string]Operation {
	byName := make(map[string]Operation, len(lines))
	for _, line := range lines {
		byName[line.Name] = line
	}
	return byName
}

func read[In, Out any](name string, s auth.Scope, call func(*Request, context.Context, *In) (*Out, error)) Operation {
	return Operation{Name: name, Role: accesskey.RoleRead, Scope: s, input: reflect.TypeFor[In](), run: func(ctx context.Context, r *Request, in any) (any, error) {
		return call(r, ctx, in.(*In))
	}}
}

// change is an operation that changes the state.
func change[In, Out any](name string, s auth.Scope, call func(*Request, context.Context, *In) (*Out, error)) Operation {
	o := read(name, s, call)
	o.Role, o.Writes = accesskey.RoleSubmit, true
	return o
}

func errInvalid(format string, args ...any) error { return wire.Errorf(invalid, format, args...) }

type emptyOutput struct{}
