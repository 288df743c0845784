package ecs

import (
	"context"
	"reflect"

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
	Own         bool // Pinion's own, which ECS's model has not. The audit log has its calls
	Input       reflect.Type
	Output      reflect.Type
	scope       scope
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
// it names the clusters and the task definitions of a call, for keys that are for some clusters alone (see scope).
var Operations = operationTable(
	admin("CreateCluster", inCluster("clusterName"), createCluster),
	read("DescribeClusters", inCluster("clusters"), describeClusters),
	read("ListClusters", unscoped, listClusters), // lists only those within the key's scope
	admin("UpdateCluster", inCluster("cluster"), updateCluster),
	admin("UpdateClusterSettings", inCluster("cluster"), updateClusterSettings),
	admin("DeleteCluster", inCluster("cluster"), deleteCluster),

	submit("RegisterTaskDefinition", ofFamily(changesFamily, "family"), registerTaskDefinition),
	submit("DeregisterTaskDefinition", ofFamily(changesFamily, "taskDefinition"), deregisterTaskDefinition),
	submit("DeleteTaskDefinitions", ofFamily(changesFamily, "taskDefinitions"), deleteTaskDefinitions),
	read("DescribeTaskDefinition", ofFamily(usesFamily, "taskDefinition"), describeTaskDefinition),
	read("ListTaskDefinitions", unscoped, listTaskDefinitions), // lists only those that the key may use, as the next
	read("ListTaskDefinitionFamilies", unscoped, listTaskDefinitionFamilies),

	startsTasks(submit("RunTask", inCluster("cluster").using("taskDefinition"), runTask)),
	startsTasks(submit("StartTask", inCluster("cluster").using("taskDefinition"), startTask)),
	submit("StopTask", inCluster("cluster"), stopTask),
	startsTasks(submit("ExecuteCommand", inCluster("cluster"), executeCommand)),
	own(submit("SetTaskPriority", inCluster("cluster"), setTaskPriority)),
	own(submit("HoldTasks", inCluster("cluster"), holdTasks)),
	own(submit("ReleaseTasks", inCluster("cluster"), releaseTasks)),
	own(submit("RequeueTasks", inCluster("cluster"), requeueTasks)),
	read("DescribeTasks", inCluster("cluster"), describeTasks),
	read("ListTasks", inCluster("cluster"), listTasks),

	read("DescribeContainerInstances", inCluster("cluster"), describeContainerInstances),
	read("ListContainerInstances", inCluster("cluster"), listContainerInstances),
	byHost(admin("UpdateContainerInstancesState", inCluster("cluster"), updateContainerInstancesState)),
	admin("RegisterContainerInstance", inCluster("cluster"), registerContainerInstance),
	admin("DeregisterContainerInstance", inCluster("cluster"), deregisterContainerInstance),
	admin("UpdateContainerAgent", inCluster("cluster"), updateContainerAgent),

	admin("PutAttributes", inCluster("cluster"), putAttributes),
	admin("DeleteAttributes", inCluster("cluster"), deleteAttributes),
	read("ListAttributes", inCluster("cluster"), listAttributes),

	admin("CreateCapacityProvider", poolWide, capacity.Create),
	admin("UpdateCapacityProvider", poolWide, capacity.Update),
	admin("DeleteCapacityProvider", poolWide, capacity.Delete),
	read("DescribeCapacityProviders", inCluster("cluster"), capacity.Describe),
	admin("PutClusterCapacityProviders", inCluster("cluster"), capacity.PutCluster),

	submit("TagResource", inCluster("resourceArn"), tagResource),
	submit("UntagResource", inCluster("resourceArn"), untagResource),
	read("ListTagsForResource", inCluster("resourceArn").using(), listTagsForResource),

	admin("PutAccountSetting", poolWide, account.PutSetting),
	admin("PutAccountSettingDefault", poolWide, account.PutSettingDefault),
	admin("DeleteAccountSetting", poolWide, account.DeleteSetting),
	read("ListAccountSettings", unscoped, account.ListSettings),

	submit("CreateService", inCluster("cluster").using("taskDefinition"), createService),
	submit("UpdateService", inCluster("cluster").using("taskDefinition"), updateService),
	submit("DeleteService", inCluster("cluster"), deleteService),
	read("ListServices", inCluster("cluster"), listServices),
	read("ListServicesByNamespace", unscoped, listServicesByNamespace),
	read("DescribeServices", inCluster("cluster"), describeServices),
	read("ListServiceDeployments", inCluster("cluster"), listServiceDeployments),
	read("DescribeServiceDeployments", inCluster("serviceDeploymentArns"), describeServiceDeployments),
	read("DescribeServiceRevisions", inCluster("serviceRevisionArns"), describeServiceRevisions),
	submit("StopServiceDeployment", inCluster("serviceDeploymentArn"), stopServiceDeployment),
	submit("ContinueServiceDeployment", inCluster("serviceDeploymentArn"), continueServiceDeployment),
	startsTasks(submit("CreateTaskSet", inCluster("cluster").using("taskDefinition"), createTaskSet)),
	submit("UpdateTaskSet", inCluster("cluster"), updateTaskSet),
	submit("DeleteTaskSet", inCluster("cluster"), deleteTaskSet),
	read("DescribeTaskSets", inCluster("cluster"), describeTaskSets),
	submit("UpdateServicePrimaryTaskSet", inCluster("cluster"), updateServicePrimaryTaskSet),
	submit("RegisterDaemonTaskDefinition", ofFamily(changesFamily, "family").ofDaemons(), daemon.RegisterDefinition),
	submit("DeleteDaemonTaskDefinition", ofFamily(changesFamily, "daemonTaskDefinition").ofDaemons(), daemon.DeleteDefinition),
	read("DescribeDaemonTaskDefinition", ofFamily(usesFamily, "daemonTaskDefinition").ofDaemons(), daemon.DescribeDefinition),
	read("ListDaemonTaskDefinitions", unscoped, daemon.ListDefinitions), // lists only those that the key may use
	submit("CreateDaemon", inCluster("clusterArn").using("daemonTaskDefinitionArn").ofDaemons(), daemon.Create),
	submit("UpdateDaemon", inCluster("daemonArn").using("daemonTaskDefinitionArn").ofDaemons(), daemon.Update),
	submit("DeleteDaemon", inCluster("daemonArn"), daemon.Delete),
	read("DescribeDaemon", inCluster("daemonArn"), daemon.Describe),
	read("ListDaemons", inCluster("clusterArn"), daemon.List),
	read("ListDaemonDeployments", inCluster("daemonArn"), daemon.ListDeployments),
	read("DescribeDaemonDeployments", inCluster("daemonDeploymentArns"), daemon.DescribeDeployments),
	read("DescribeDaemonRevisions", inCluster("daemonRevisionArns"), daemon.DescribeRevisions),
	read("GetTaskProtection", inCluster("cluster"), getTaskProtection),
	submit("UpdateTaskProtection", inCluster("cluster"), updateTaskProtection),
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

func read[In, Out any](name string, s scope, handle handler[In, Out]) Operation {
	return operation(name, accesskey.RoleRead, s, handle)
}

func submit[In, Out any](name string, s scope, handle handler[In, Out]) Operation {
	return operation(name, accesskey.RoleSubmit, s, handle)
}

func admin[In, Out any](name string, s scope, handle handler[In, Out]) Operation {
	return operation(name, accesskey.RoleAdmin, s, handle)
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

func operation[In, Out any](name string, role accesskey.Role, s scope, handle handler[In, Out]) Operation {
	o := Operation{Name: name, Role: role, Writes: role != accesskey.RoleRead, Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out](), scope: s}
	token := wire.Fields(o.Input)["clientToken"].Index
	o.bind = func(r *Request, body []byte, decode Decoder) (BoundCall, error) {
		in := new(In)
		if err := decode(body, in, r.Strictness); err != nil {
			return BoundCall{}, err
		}
		input := reflect.ValueOf(in).Elem()
		if err := s.check(r, name, input); err != nil {
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
