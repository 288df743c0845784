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
	prepare func(c *Call, body []byte, decode Decoder) (Prepared, error)
}

// Decoder is wire.DecodeJSON or wire.DecodeYAML.
type Decoder func(body []byte, into any, strict wire.Strictness) error

// Prepared is a call whose input was read and may be carried out.
type Prepared struct {
	Token string // the client token: with the same one, doing it twice is doing it once
	Run   func(context.Context) (answer any, err error)
}

// Operations are all operations that do something, by name. Adding one is adding a line here and its method to Call. What
// stands first says who may call it and what for: read looks, submit runs tasks and what they are made of, admin changes
// clusters and hosts.
var Operations = table(
	admin("CreateCluster", (*Call).createCluster),
	read("DescribeClusters", (*Call).describeClusters),
	read("ListClusters", (*Call).listClusters),
	admin("UpdateCluster", (*Call).updateCluster),
	admin("UpdateClusterSettings", (*Call).updateClusterSettings),
	admin("DeleteCluster", (*Call).deleteCluster),

	submit("RegisterTaskDefinition", (*Call).registerTaskDefinition),
	submit("DeregisterTaskDefinition", (*Call).deregisterTaskDefinition),
	submit("DeleteTaskDefinitions", (*Call).deleteTaskDefinitions),
	read("DescribeTaskDefinition", (*Call).describeTaskDefinition),
	read("ListTaskDefinitions", (*Call).listTaskDefinitions),
	read("ListTaskDefinitionFamilies", (*Call).listTaskDefinitionFamilies),

	submit("RunTask", (*Call).runTask),
	submit("StartTask", (*Call).startTask),
	submit("StopTask", (*Call).stopTask),
	read("DescribeTasks", (*Call).describeTasks),
	read("ListTasks", (*Call).listTasks),

	read("DescribeContainerInstances", (*Call).describeContainerInstances),
	read("ListContainerInstances", (*Call).listContainerInstances),
	admin("UpdateContainerInstancesState", (*Call).updateContainerInstancesState),
	admin("RegisterContainerInstance", (*Call).registerContainerInstance),
	admin("DeregisterContainerInstance", (*Call).deregisterContainerInstance),
	admin("UpdateContainerAgent", (*Call).updateContainerAgent),

	admin("PutAttributes", (*Call).putAttributes),
	admin("DeleteAttributes", (*Call).deleteAttributes),
	read("ListAttributes", (*Call).listAttributes),

	admin("CreateCapacityProvider", (*Call).createCapacityProvider),
	admin("UpdateCapacityProvider", (*Call).updateCapacityProvider),
	admin("DeleteCapacityProvider", (*Call).deleteCapacityProvider),
	read("DescribeCapacityProviders", (*Call).describeCapacityProviders),
	admin("PutClusterCapacityProviders", (*Call).putClusterCapacityProviders),

	submit("TagResource", (*Call).tagResource),
	submit("UntagResource", (*Call).untagResource),
	read("ListTagsForResource", (*Call).listTagsForResource),

	admin("PutAccountSetting", (*Call).putAccountSetting),
	admin("PutAccountSettingDefault", (*Call).putAccountSettingDefault),
	admin("DeleteAccountSetting", (*Call).deleteAccountSetting),
	read("ListAccountSettings", (*Call).listAccountSettings),

	read("ListServices", (*Call).listServices),
	read("ListServicesByNamespace", (*Call).listServicesByNamespace),
	read("DescribeServices", (*Call).describeServices),
	read("ListServiceDeployments", (*Call).listServiceDeployments),
	read("DescribeServiceDeployments", (*Call).describeServiceDeployments),
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

// Prepare reads the input of a call. It refuses an input that cannot be read, and one that names a cluster which the
// caller's key is not for.
func (o Operation) Prepare(c *Call, body []byte, decode Decoder) (Prepared, error) {
	return o.prepare(c, body, decode)
}

func table(operations ...Operation) map[string]Operation {
	byName := make(map[string]Operation, len(operations))
	for _, o := range operations {
		byName[o.Name] = o
	}
	return byName
}

// method does an operation: a method of Call.
type method[In, Out any] func(*Call, context.Context, *In) (*Out, error)

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
	token := fieldNamed(o.Input, "clientToken")
	o.prepare = func(c *Call, body []byte, decode Decoder) (Prepared, error) {
		in := new(In)
		if err := decode(body, in, c.Strict); err != nil {
			return Prepared{}, err
		}
		input := reflect.ValueOf(in).Elem()
		if err := about.refuse(c, input); err != nil {
			return Prepared{}, err
		}
		return Prepared{
			Token: textOf(input, token),
			Run:   func(ctx context.Context) (any, error) { return call(c, ctx, in) },
		}, nil
	}
	return o
}

// Refused tells for each operation of ECS that is known and not done why that is.
func Refused() map[string]string {
	why := make(map[string]string, len(refusals))
	for name, r := range refusals {
		why[name] = r.why
	}
	return why
}
