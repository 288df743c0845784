package ecs

import (
	"context"
	"reflect"

	"pinion/api/auth"
	"pinion/api/ecs/account"
	"pinion/api/ecs/call"
	"pinion/api/ecs/capacity"
	"pinion/api/ecs/daemon"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

// Target is the prefix of X-Amz-Target, before the dot and the operation's name.
const Target = "AmazonEC2ContainerServiceV20141113"

// Operation is one line of the table. Routes, the checks of roles and scopes, the OpenAPI description and the page in docs/ follow
// from it.
type Operation struct {
	Name   string
	Role   accesskey.Role // least role of the access keys that may call it
	Host   bool           // a host's own key may call it too, about that host: see Request.OnlyHost
	Writes bool           // changes the state, so it needs the leader; the others are answered from the request's view
	// StartsTasks: two equal calls ask for twice as many tasks, or sessions. Two equal calls of any other operation, one right after the
	// other, ask for nothing more than one.
	StartsTasks bool
	Lists       bool // its answer has a bound, and looks at everything that there is of its kind: few are put together at once
	Own         bool // Pinion's own, which ECS's model has not. The audit log has its calls
	Input       reflect.Type
	Output      reflect.Type
	Scope       auth.Scope // which clusters and task definitions a call is about
	bind        func(r *Request, body []byte, decode Decoder) (BoundCall, error)
}

// Decoder is wire.DecodeJSON or wire.DecodeYAML.
type Decoder func(body []byte, into any, strict wire.Strictness) error

// BoundCall is a request with its input, which is decoded and within the scope of the caller's key.
type BoundCall struct {
	ClientToken string // with the same one, doing it twice is doing it once
	Run         func(context.Context) (output any, err error)
}

// Operations is the table of the operations that Pinion has, by name. To add one, write its handler and add a line here. A line
// names the least role of the caller: read looks, submit changes tasks and task definitions, admin changes clusters and hosts. Then
// it names the clusters and the task definitions of a call, for keys that are for some clusters alone (see auth.Scope).
var Operations = operationTable(
	admin("CreateCluster", auth.InCluster("clusterName"), createCluster),
	read("DescribeClusters", auth.InCluster("clusters"), describeClusters),
	read("ListClusters", auth.PerResource, listClusters), // lists only those within the key's auth.Scope
	admin("UpdateCluster", auth.InCluster("cluster"), updateCluster),
	admin("UpdateClusterSettings", auth.InCluster("cluster"), updateClusterSettings),
	admin("DeleteCluster", auth.InCluster("cluster"), deleteCluster),

	submit("RegisterTaskDefinition", auth.OfFamily(auth.ChangesFamily, "family"), registerTaskDefinition),
	submit("DeregisterTaskDefinition", auth.OfFamily(auth.ChangesFamily, "taskDefinition"), deregisterTaskDefinition),
	submit("DeleteTaskDefinitions", auth.OfFamily(auth.ChangesFamily, "taskDefinitions"), deleteTaskDefinitions),
	read("DescribeTaskDefinition", auth.OfFamily(auth.UsesFamily, "taskDefinition"), describeTaskDefinition),
	lists(read("ListTaskDefinitions", auth.PerResource, listTaskDefinitions)), // lists only those that the key may use, as the next
	lists(read("ListTaskDefinitionFamilies", auth.PerResource, listTaskDefinitionFamilies)),

	startsTasks(submit("RunTask", auth.InCluster("cluster").Using("taskDefinition"), runTask)),
	startsTasks(submit("StartTask", auth.InCluster("cluster").Using("taskDefinition"), startTask)),
	submit("StopTask", auth.InCluster("cluster"), stopTask),
	startsTasks(submit("ExecuteCommand", auth.InCluster("cluster"), executeCommand)),
	own(submit("SetTaskPriority", auth.InCluster("cluster"), setTaskPriority)),
	own(submit("HoldTasks", auth.InCluster("cluster"), holdTasks)),
	own(submit("ReleaseTasks", auth.InCluster("cluster"), releaseTasks)),
	own(submit("RequeueTasks", auth.InCluster("cluster"), requeueTasks)),
	read("DescribeTasks", auth.InCluster("cluster"), describeTasks),
	read("ListTasks", auth.InCluster("cluster"), listTasks),

	read("DescribeContainerInstances", auth.InCluster("cluster"), describeContainerInstances),
	lists(read("ListContainerInstances", auth.InCluster("cluster"), listContainerInstances)),
	byHost(admin("UpdateContainerInstancesState", auth.InCluster("cluster"), updateContainerInstancesState)),
	admin("RegisterContainerInstance", auth.InCluster("cluster"), registerContainerInstance),
	admin("DeregisterContainerInstance", auth.InCluster("cluster"), deregisterContainerInstance),
	admin("UpdateContainerAgent", auth.InCluster("cluster"), updateContainerAgent),

	admin("PutAttributes", auth.InCluster("cluster"), putAttributes),
	admin("DeleteAttributes", auth.InCluster("cluster"), deleteAttributes),
	lists(read("ListAttributes", auth.InCluster("cluster"), listAttributes)),

	admin("CreateCapacityProvider", auth.PoolWide, capacity.Create),
	admin("UpdateCapacityProvider", auth.PoolWide, capacity.Update),
	admin("DeleteCapacityProvider", auth.PoolWide, capacity.Delete),
	read("DescribeCapacityProviders", auth.InCluster("cluster"), capacity.Describe),
	admin("PutClusterCapacityProviders", auth.InCluster("cluster"), capacity.PutCluster),

	submit("TagResource", auth.InCluster("resourceArn"), tagResource),
	submit("UntagResource", auth.InCluster("resourceArn"), untagResource),
	read("ListTagsForResource", auth.InCluster("resourceArn").Using(), listTagsForResource),

	admin("PutAccountSetting", auth.PoolWide, account.PutSetting),
	admin("PutAccountSettingDefault", auth.PoolWide, account.PutSettingDefault),
	admin("DeleteAccountSetting", auth.PoolWide, account.DeleteSetting),
	read("ListAccountSettings", auth.Unscoped, account.ListSettings),

	submit("CreateService", auth.InCluster("cluster").Using("taskDefinition"), createService),
	submit("UpdateService", auth.InCluster("cluster").Using("taskDefinition"), updateService),
	submit("DeleteService", auth.InCluster("cluster"), deleteService),
	lists(read("ListServices", auth.InCluster("cluster"), listServices)),
	lists(read("ListServicesByNamespace", auth.PerResource, listServicesByNamespace)),
	lists(read("DescribeServices", auth.InCluster("cluster"), describeServices)),
	read("ListServiceDeployments", auth.InCluster("cluster"), listServiceDeployments),
	lists(read("DescribeServiceDeployments", auth.InCluster("serviceDeploymentArns"), describeServiceDeployments)),
	read("DescribeServiceRevisions", auth.InCluster("serviceRevisionArns"), describeServiceRevisions),
	submit("StopServiceDeployment", auth.InCluster("serviceDeploymentArn"), stopServiceDeployment),
	submit("ContinueServiceDeployment", auth.InCluster("serviceDeploymentArn"), continueServiceDeployment),
	startsTasks(submit("CreateTaskSet", auth.InCluster("cluster").Using("taskDefinition"), createTaskSet)),
	submit("UpdateTaskSet", auth.InCluster("cluster"), updateTaskSet),
	submit("DeleteTaskSet", auth.InCluster("cluster"), deleteTaskSet),
	lists(read("DescribeTaskSets", auth.InCluster("cluster"), describeTaskSets)),
	submit("UpdateServicePrimaryTaskSet", auth.InCluster("cluster"), updateServicePrimaryTaskSet),
	submit("RegisterDaemonTaskDefinition", auth.OfFamily(auth.ChangesFamily, "family").OfDaemons(), daemon.RegisterDefinition),
	submit("DeleteDaemonTaskDefinition", auth.OfFamily(auth.ChangesFamily, "daemonTaskDefinition").OfDaemons(), daemon.DeleteDefinition),
	read("DescribeDaemonTaskDefinition", auth.OfFamily(auth.UsesFamily, "daemonTaskDefinition").OfDaemons(), daemon.DescribeDefinition),
	lists(read("ListDaemonTaskDefinitions", auth.PerResource, daemon.ListDefinitions)), // lists only those that the key may use
	submit("CreateDaemon", auth.InCluster("clusterArn").Using("daemonTaskDefinitionArn").OfDaemons(), daemon.Create),
	submit("UpdateDaemon", auth.InCluster("daemonArn").Using("daemonTaskDefinitionArn").OfDaemons(), daemon.Update),
	submit("DeleteDaemon", auth.InCluster("daemonArn"), daemon.Delete),
	read("DescribeDaemon", auth.InCluster("daemonArn"), daemon.Describe),
	lists(read("ListDaemons", auth.InCluster("clusterArn"), daemon.List)),
	read("ListDaemonDeployments", auth.InCluster("daemonArn"), daemon.ListDeployments),
	lists(read("DescribeDaemonDeployments", auth.InCluster("daemonDeploymentArns"), daemon.DescribeDeployments)),
	read("DescribeDaemonRevisions", auth.InCluster("daemonRevisionArns"), daemon.DescribeRevisions),
	read("GetTaskProtection", auth.InCluster("cluster"), getTaskProtection),
	submit("UpdateTaskProtection", auth.InCluster("cluster"), updateTaskProtection),
)

// byHost lets a host's own key call an operation, whose handler holds it to that host.
func byHost(o Operation) Operation {
	o.Host = true
	return o
}

// Find returns the operation of that name. For an operation of ECS that Pinion refuses, the error is one of that operation's model;
// any other name is unknown.
func Find(name string) (Operation, error) {
	if operation, ok := Operations[name]; ok {
		return operation, nil
	}
	if reason, ok := UnsupportedReasons()[name]; ok {
		return Operation{}, errUnsupported(name, reason)
	}
	return Operation{}, wire.Errorf(wire.UnknownOperation, "%s is not an operation of Amazon ECS", name)
}

// Prepare reads the input of a request. It refuses an input that cannot be read, and one about a cluster that the caller's key is
// not for.
func (o Operation) Prepare(r *Request, body []byte, decode Decoder) (BoundCall, error) {
	return o.bind(r, body, decode)
}

func operationTable(operations ...Operation) map[string]Operation {
	byName := make(map[string]Operation, len(operations))
	for _, o := range operations {
		byName[o.Name] = o
	}
	return byName
}

// validator is an input with rules that need nothing but the input.
type validator interface{ Validate() error }

// handler carries out an operation.
type handler[In, Out any] func(context.Context, *Request, *In) (*Out, error)

func read[In, Out any](name string, s auth.Scope, handle handler[In, Out]) Operation {
	return operation(name, accesskey.RoleRead, s, handle)
}

func submit[In, Out any](name string, s auth.Scope, handle handler[In, Out]) Operation {
	return operation(name, accesskey.RoleSubmit, s, handle)
}

func admin[In, Out any](name string, s auth.Scope, handle handler[In, Out]) Operation {
	return operation(name, accesskey.RoleAdmin, s, handle)
}

// lists says that an operation may look at every host, service, revision or their like, whatever the page, or at every task of a service.
func lists(o Operation) Operation {
	o.Lists = true
	return o
}

func startsTasks(o Operation) Operation {
	o.StartsTasks = true
	return o
}

// own marks an operation of Pinion's own.
func own(o Operation) Operation {
	o.Own = true
	return o
}

func operation[In, Out any](name string, role accesskey.Role, s auth.Scope, handle handler[In, Out]) Operation {
	o := Operation{Name: name, Role: role, Writes: role != accesskey.RoleRead, Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out](), Scope: s}
	token := wire.Fields(o.Input)["clientToken"].Index
	o.bind = func(r *Request, body []byte, decode Decoder) (BoundCall, error) {
		in := new(In)
		if err := decode(body, in, r.Strictness); err != nil {
			return BoundCall{}, err
		}
		input := reflect.ValueOf(in).Elem()
		if err := s.Check(auth.Principal{ARN: r.Principal, Clusters: r.KeyClusters}, r.View, name, input); err != nil {
			return BoundCall{}, call.WithType(wire.InvalidParameter, err)
		}
		if v, ok := any(in).(validator); ok {
			if err := v.Validate(); err != nil {
				return BoundCall{}, call.WithType(wire.InvalidParameter, err)
			}
		}
		bound := BoundCall{Run: func(ctx context.Context) (any, error) {
			output, err := handle(ctx, r, in)
			if err != nil {
				return nil, call.WithType(wire.InvalidParameter, err)
			}
			return output, nil
		}}
		if token != nil {
			bound.ClientToken = input.FieldByIndex(token).String()
		}
		return bound, nil
	}
	return o
}
