package ecs

import (
	"context"
	"reflect"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// Target is the prefix of X-Amz-Target, before the dot and the operation's name.
const Target = "AmazonEC2ContainerServiceV20141113"

// Operation is one line of the table that everything about operations is made from: both doors, the check of roles, the
// description of the API and its page in docs/.
type Operation struct {
	Name    string
	Role    spec.Role    // of the access keys that may call it
	Writes  bool         // changes the state, so it needs the leader; the others are answered from the call's view
	Input   reflect.Type // struct; its JSON names are ECS's
	Output  reflect.Type
	prepare func(c *Request, body []byte, decode Decoder) (BoundCall, error)
}

// Decoder is wire.DecodeJSON or wire.DecodeYAML.
type Decoder func(body []byte, into any, strict wire.Strictness) error

// BoundCall is a call whose input was read and may be carried out.
type BoundCall struct {
	ClientToken string // the client token: with the same one, doing it twice is doing it once
	Run         func(context.Context) (answer any, err error)
}

// Operations are all operations that do something, by name. Adding one is adding a line here and its method to Call. What
// stands first says who may call it and what for: read looks, submit runs tasks and what they are made of, admin changes
// clusters and hosts.
var Operations = operationTable(
	admin("CreateCluster", (*Request).createCluster),
	read("DescribeClusters", (*Request).describeClusters),
	read("ListClusters", (*Request).listClusters),
	admin("UpdateCluster", (*Request).updateCluster),
	admin("UpdateClusterSettings", (*Request).updateClusterSettings),
	admin("DeleteCluster", (*Request).deleteCluster),

	submit("RegisterTaskDefinition", (*Request).registerTaskDefinition),
	submit("DeregisterTaskDefinition", (*Request).deregisterTaskDefinition),
	submit("DeleteTaskDefinitions", (*Request).deleteTaskDefinitions),
	read("DescribeTaskDefinition", (*Request).describeTaskDefinition),
	read("ListTaskDefinitions", (*Request).listTaskDefinitions),
	read("ListTaskDefinitionFamilies", (*Request).listTaskDefinitionFamilies),

	submit("RunTask", (*Request).runTask),
	submit("StartTask", (*Request).startTask),
	submit("StopTask", (*Request).stopTask),
	read("DescribeTasks", (*Request).describeTasks),
	read("ListTasks", (*Request).listTasks),

	read("DescribeContainerInstances", (*Request).describeContainerInstances),
	read("ListContainerInstances", (*Request).listContainerInstances),
	admin("UpdateContainerInstancesState", (*Request).updateContainerInstancesState),
	admin("RegisterContainerInstance", (*Request).registerContainerInstance),
	admin("DeregisterContainerInstance", (*Request).deregisterContainerInstance),
	admin("UpdateContainerAgent", (*Request).updateContainerAgent),

	admin("PutAttributes", (*Request).putAttributes),
	admin("DeleteAttributes", (*Request).deleteAttributes),
	read("ListAttributes", (*Request).listAttributes),

	admin("CreateCapacityProvider", (*Request).createCapacityProvider),
	admin("UpdateCapacityProvider", (*Request).updateCapacityProvider),
	admin("DeleteCapacityProvider", (*Request).deleteCapacityProvider),
	read("DescribeCapacityProviders", (*Request).describeCapacityProviders),
	admin("PutClusterCapacityProviders", (*Request).putClusterCapacityProviders),

	submit("TagResource", (*Request).tagResource),
	submit("UntagResource", (*Request).untagResource),
	read("ListTagsForResource", (*Request).listTagsForResource),

	admin("PutAccountSetting", (*Request).putAccountSetting),
	admin("PutAccountSettingDefault", (*Request).putAccountSettingDefault),
	admin("DeleteAccountSetting", (*Request).deleteAccountSetting),
	read("ListAccountSettings", (*Request).listAccountSettings),

	read("ListServices", (*Request).listServices),
	read("ListServicesByNamespace", (*Request).listServicesByNamespace),
	read("DescribeServices", (*Request).describeServices),
	read("ListServiceDeployments", (*Request).listServiceDeployments),
	read("DescribeServiceDeployments", (*Request).describeServiceDeployments),
)

// Find is the operation of that name. When Pinion does not do it, the error says so in the way that the operation's
// model allows: one of ECS's that is not built, or none of ECS's at all.
func Find(name string) (Operation, error) {
	if operation, ok := Operations[name]; ok {
		return operation, nil
	}
	if refusal, ok := unsupportedOperations[name]; ok {
		return Operation{}, wire.Errorf(refusal.errorType, "pinion: %s is not supported: %s", name, refusal.reason)
	}
	return Operation{}, wire.Errorf(wire.UnknownOperation, "%s is not an operation of Amazon ECS", name)
}

// Prepare reads the input of a call. It refuses an input that cannot be read, and one that names a cluster which the
// caller's key is not for.
func (o Operation) Prepare(c *Request, body []byte, decode Decoder) (BoundCall, error) {
	return o.prepare(c, body, decode)
}

func operationTable(operations ...Operation) map[string]Operation {
	byName := make(map[string]Operation, len(operations))
	for _, o := range operations {
		byName[o.Name] = o
	}
	return byName
}

// method does an operation: a method of Call.
type method[In, Out any] func(*Request, context.Context, *In) (*Out, error)

func read[In, Out any](name string, call method[In, Out]) Operation {
	return operation(name, spec.RoleRead, call)
}

func submit[In, Out any](name string, call method[In, Out]) Operation {
	return operation(name, spec.RoleSubmit, call)
}

func admin[In, Out any](name string, call method[In, Out]) Operation {
	return operation(name, spec.RoleAdmin, call)
}

func operation[In, Out any](name string, role spec.Role, call method[In, Out]) Operation {
	o := Operation{Name: name, Role: role, Writes: role != spec.RoleRead, Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out]()}
	about := scopeOf(o)
	token := jsonField(o.Input, "clientToken")
	o.prepare = func(c *Request, body []byte, decode Decoder) (BoundCall, error) {
		in := new(In)
		if err := decode(body, in, c.Strictness); err != nil {
			return BoundCall{}, err
		}
		input := reflect.ValueOf(in).Elem()
		if err := about.refuse(c, input); err != nil {
			return BoundCall{}, err
		}
		return BoundCall{
			ClientToken: stringField(input, token),
			Run:         func(ctx context.Context) (any, error) { return call(c, ctx, in) },
		}, nil
	}
	return o
}

// UnsupportedReasons tells for each operation of ECS that is known and not done why that is.
func UnsupportedReasons() map[string]string {
	why := make(map[string]string, len(unsupportedOperations))
	for name, r := range unsupportedOperations {
		why[name] = r.reason
	}
	return why
}
