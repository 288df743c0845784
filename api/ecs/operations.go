package ecs

import (
	"context"

	"pinion/api/wire"
)

// Target is the prefix of X-Amz-Target, before the dot and the operation's name.
const Target = "AmazonEC2ContainerServiceV20141113"

// Operation is one line of the table that both doors serve from.
type Operation struct {
	Name   string
	Writes bool // changes the state, so it needs the leader; the others are answered from the call's view
	invoke func(ctx context.Context, c *Call, body []byte, decode Decoder) (any, error)
}

// Decoder is wire.DecodeJSON or wire.DecodeYAML.
type Decoder func(body []byte, into any, strict wire.Strictness) error

// Operations are all operations that do something. Adding one is adding a line here and its method to Call.
var Operations = table(
	write("CreateCluster", (*Call).createCluster),
	read("DescribeClusters", (*Call).describeClusters),
	read("ListClusters", (*Call).listClusters),

	write("RegisterTaskDefinition", (*Call).registerTaskDefinition),
	write("DeregisterTaskDefinition", (*Call).deregisterTaskDefinition),
	read("DescribeTaskDefinition", (*Call).describeTaskDefinition),
	read("ListTaskDefinitions", (*Call).listTaskDefinitions),
	read("ListTaskDefinitionFamilies", (*Call).listTaskDefinitionFamilies),

	write("RunTask", (*Call).runTask),
	write("StartTask", (*Call).startTask),
	write("StopTask", (*Call).stopTask),
	read("DescribeTasks", (*Call).describeTasks),
	read("ListTasks", (*Call).listTasks),

	read("DescribeContainerInstances", (*Call).describeContainerInstances),
	read("ListContainerInstances", (*Call).listContainerInstances),
	write("UpdateContainerInstancesState", (*Call).updateContainerInstancesState),
	write("DeregisterContainerInstance", (*Call).deregisterContainerInstance),
)

// Find is the operation of that name. When Pinion does not do it, the error says so in the way that the operation's
// model allows: one of ECS's that is not built, or none of ECS's at all.
func Find(name string) (Operation, error) {
	if operation, ok := Operations[name]; ok {
		return operation, nil
	}
	if refusal, ok := refusals[name]; ok {
		return Operation{}, wire.Errorf(refusal.kind, "pinion: %s is not supported: %s", name, refusal.why)
	}
	return Operation{}, wire.Errorf(wire.UnknownOperation, "%s is not an operation of Amazon ECS", name)
}

// Invoke decodes the body, calls the operation and returns what is to be encoded as the answer.
func (o Operation) Invoke(ctx context.Context, c *Call, body []byte, decode Decoder) (any, error) {
	return o.invoke(ctx, c, body, decode)
}

func table(operations ...Operation) map[string]Operation {
	byName := make(map[string]Operation, len(operations))
	for _, o := range operations {
		byName[o.Name] = o
	}
	return byName
}

func read[In, Out any](name string, call func(*Call, context.Context, *In) (*Out, error)) Operation {
	return Operation{Name: name, invoke: func(ctx context.Context, c *Call, body []byte, decode Decoder) (any, error) {
		in := new(In)
		if err := decode(body, in, c.Strict); err != nil {
			return nil, err
		}
		return call(c, ctx, in)
	}}
}

func write[In, Out any](name string, call func(*Call, context.Context, *In) (*Out, error)) Operation {
	operation := read(name, call)
	operation.Writes = true
	return operation
}
