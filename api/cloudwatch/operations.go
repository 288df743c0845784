package cloudwatch

import (
	"context"
	"errors"
	"slices"
	"strings"

	"pinion/api/wire"
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
	// Unavailable is what SDKs try again.
	Unavailable = "ServiceUnavailableException"
)

// Operation is one line of the table. All operations only read, so a key with the role read may call each of them.
type Operation struct {
	Name string
	run  func(ctx context.Context, c *Request, body []byte) (any, error)
}

// operations is the table, by name. The last ones would write, and refuse with a reason.
var operations = table(
	operation("DescribeLogGroups", (*Request).describeLogGroups),
	operation("DescribeLogStreams", (*Request).describeLogStreams),
	operation("GetLogEvents", (*Request).getLogEvents),
	operation("FilterLogEvents", (*Request).filterLogEvents),
	operation("ListTagsForResource", (*Request).listTagsForResource),
	operation("ListTagsLogGroup", (*Request).listTagsLogGroup),

	operation("CreateLogGroup", (*Request).createLogGroup),
	unsupported("DeleteLogGroup", "a group goes away with the task definitions that name it"),
	unsupported("PutRetentionPolicy", "logs are kept as long as their task is remembered, and rotate by the options max-size and max-file of the container's logConfiguration"),
	unsupported("DeleteRetentionPolicy", "logs are kept as long as their task is remembered"),
	unsupported("CreateLogStream", "streams are made by running tasks"),
	unsupported("DeleteLogStream", "a stream goes away with its task"),
	unsupported("PutLogEvents", "streams hold what containers write to stdout and stderr"),
	unsupported("TagLogGroup", "log groups have no tags; tag the task definition"),
	unsupported("UntagLogGroup", "log groups have no tags"),
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
	return Operation{Name: name, run: func(ctx context.Context, c *Request, body []byte) (any, error) {
		in := new(In)
		if err := decode(body, in); err != nil {
			return nil, err
		}
		return call(c, ctx, in)
	}}
}

// decode reads an input. The service has no ClientException: an error in a field is an InvalidParameterException.
func decode(body []byte, in any) error {
	err := wire.DecodeJSON(body, in, wire.Lenient)
	if refusal, ok := errors.AsType[*wire.Error](err); ok && refusal.Type == wire.Client {
		return wire.Errorf(wire.InvalidParameter, "%s", refusal.Message)
	}
	return err
}
