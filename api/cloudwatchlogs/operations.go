package cloudwatchlogs

import (
	"context"
	"slices"
	"strings"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

// Target is the prefix of X-Amz-Target, before the dot and the operation's name; Service is the name in the scope of
// signatures.
const (
	Target  = "Logs_20140328"
	Service = "logs"
)

// Types of errors, from the service's model.
const (
	notFound      = "ResourceNotFoundException"
	alreadyExists = "ResourceAlreadyExistsException"
	limitExceeded = "LimitExceededException"
	// Unavailable is what SDKs try again.
	Unavailable = "ServiceUnavailableException"
)

// Operation is one line of the table.
type Operation struct {
	Name   string
	Role   accesskey.Role // least role of the access keys that may call it
	Writes bool           // changes the state
	Scope  auth.Scope
	run    func(ctx context.Context, c *Request, body []byte) (any, error)
}

// Operations is the table, by name. A log group belongs to no cluster, so what changes one is not for a key of one cluster; what is in one
// belongs to tasks. The last ones refuse with a reason. A retention deletes logs of tasks, so it needs more than the
// role that starts them.
var Operations = table(
	operation("DescribeLogGroups", auth.PerResource, (*Request).describeLogGroups),
	operation("DescribeLogStreams", auth.PerResource, (*Request).describeLogStreams),
	operation("GetLogEvents", auth.PerResource, (*Request).getLogEvents),
	operation("FilterLogEvents", auth.PerResource, (*Request).filterLogEvents),
	operation("ListTagsForResource", auth.PerResource, (*Request).listTagsForResource),
	operation("ListTagsLogGroup", auth.PerResource, (*Request).listTagsLogGroup),

	change(accesskey.RoleSubmit, "CreateLogGroup", auth.PoolWide, createLogGroup),
	change(accesskey.RoleAdmin, "DeleteLogGroup", auth.PoolWide, deleteLogGroup),
	change(accesskey.RoleAdmin, "PutRetentionPolicy", auth.PoolWide, putRetentionPolicy),
	change(accesskey.RoleAdmin, "DeleteRetentionPolicy", auth.PoolWide, deleteRetentionPolicy),
	change(accesskey.RoleSubmit, "TagResource", auth.PoolWide, tagResource),
	change(accesskey.RoleSubmit, "UntagResource", auth.PoolWide, untagResource),
	change(accesskey.RoleSubmit, "TagLogGroup", auth.PoolWide, tagLogGroup),
	change(accesskey.RoleSubmit, "UntagLogGroup", auth.PoolWide, untagLogGroup),

	unsupported("CreateLogStream", "streams are made by running tasks"),
	unsupported("DeleteLogStream", "a stream goes away with its task"),
	unsupported("PutLogEvents", "streams hold what containers write to stdout and stderr"),
)

// Find returns the operation of that name, or an error that names the known ones.
func Find(name string) (Operation, error) {
	if found, ok := Operations[name]; ok {
		return found, nil
	}
	var known []string
	for name := range Operations {
		known = append(known, name)
	}
	slices.Sort(known)
	return Operation{}, wire.Errorf(wire.UnknownOperation, "pinion: %s is not supported: of Amazon CloudWatch Logs there are %s", name, strings.Join(known, ", "))
}

// Run decodes the input of a request and answers it.
func (o Operation) Run(ctx context.Context, c *Request, body []byte) (any, error) {
	return o.run(ctx, c, body)
}

func table(lines ...Operation) map[string]Operation {
	byName := make(map[string]Operation, len(lines))
	for _, line := range lines {
		byName[line.Name] = line
	}
	return byName
}

func operation[In, Out any](name string, s auth.Scope, call func(*Request, context.Context, *In) (*Out, error)) Operation {
	return Operation{Name: name, Role: accesskey.RoleRead, Scope: s, run: func(ctx context.Context, c *Request, body []byte) (any, error) {
		in := new(In)
		if err := wire.WithErrorType(wire.InvalidParameter, wire.DecodeJSON(body, in, wire.Lenient)); err != nil {
			return nil, err
		}
		return call(c, ctx, in)
	}}
}

// change is an operation that changes the state.
func change[In, Out any](role accesskey.Role, name string, s auth.Scope, call func(*Request, context.Context, *In) (*Out, error)) Operation {
	o := operation(name, s, call)
	o.Role, o.Writes = role, true
	return o
}
