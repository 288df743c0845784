package cloudwatchlogs

import (
	"context"
	"slices"
	"strings"

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

// Operation is one line of the table. A log group belongs to no cluster, so what changes one is not for a key of one cluster.
type Operation struct {
	Name   string
	Role   accesskey.Role // least role of the access keys that may call it
	Writes bool           // changes the state
	run    func(ctx context.Context, c *Request, body []byte) (any, error)
}

// operations is the table, by name. The last ones refuse with a reason. A retention deletes logs of tasks, so it needs more than the
// role that starts them.
var operations = table(
	operation("DescribeLogGroups", (*Request).describeLogGroups),
	operation("DescribeLogStreams", (*Request).describeLogStreams),
	operation("GetLogEvents", (*Request).getLogEvents),
	operation("FilterLogEvents", (*Request).filterLogEvents),
	operation("ListTagsForResource", (*Request).listTagsForResource),
	operation("ListTagsLogGroup", (*Request).listTagsLogGroup),

	change(accesskey.RoleSubmit, "CreateLogGroup", createLogGroup),
	change(accesskey.RoleAdmin, "DeleteLogGroup", deleteLogGroup),
	change(accesskey.RoleAdmin, "PutRetentionPolicy", putRetentionPolicy),
	change(accesskey.RoleAdmin, "DeleteRetentionPolicy", deleteRetentionPolicy),
	change(accesskey.RoleSubmit, "TagResource", tagResource),
	change(accesskey.RoleSubmit, "UntagResource", untagResource),
	change(accesskey.RoleSubmit, "TagLogGroup", tagLogGroup),
	change(accesskey.RoleSubmit, "UntagLogGroup", untagLogGroup),

	unsupported("CreateLogStream", "streams are made by running tasks"),
	unsupported("DeleteLogStream", "a stream goes away with its task"),
	unsupported("PutLogEvents", "streams hold what containers write to stdout and stderr"),
)

// Find returns the operation of that name, or an error that names the known ones.
func Find(name string) (Operation, error) {
	if found, ok := operations[name]; ok {
		return found, nil
	}
	var known []string
	for name := range operations {
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

func operation[In, Out any](name string, call func(*Request, context.Context, *In) (*Out, error)) Operation {
	return Operation{Name: name, Role: accesskey.RoleRead, run: func(ctx context.Context, c *Request, body []byte) (any, error) {
		in := new(In)
		if err := wire.Retyped(wire.InvalidParameter, wire.DecodeJSON(body, in, wire.Lenient)); err != nil {
			return nil, err
		}
		return call(c, ctx, in)
	}}
}

// change is an operation that changes the state.
func change[In, Out any](role accesskey.Role, name string, call func(*Request, context.Context, *In) (*Out, error)) Operation {
	o := operation(name, call)
	o.Role, o.Writes = role, true
	return o
}
