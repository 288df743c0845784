package arn

import (
	"strings"
	"testing"
)

const prefix = "arn:aws:ecs:eu-west-1:123456789012:"

func TestAnARNIsReadInBothForms(t *testing.T) {
	for given, want := range map[string]Resource{
		"cluster/lab":                       {Cluster, "lab", "lab"},
		"task-definition/f:1":               {TaskDefinition, "", "f:1"},
		"capacity-provider/night":           {CapacityProvider, "", "night"},
		"task/lab/0123":                     {Task, "lab", "0123"},
		"task/0123":                         {Task, "", "0123"},
		"container-instance/lab/0123":       {ContainerInstance, "lab", "0123"},
		"container-instance/0123":           {ContainerInstance, "", "0123"},
		"service/lab/web":                   {Service, "lab", "web"},
		"service/web":                       {Service, "", "web"},
		"service-deployment/lab/web/abc":    {ServiceDeployment, "lab", "web/abc"},
		"service-revision/lab/web/123":      {"service-revision", "lab", "web/123"},
		"task-set/lab/web/ecs-svc/123":      {"task-set", "lab", "web/ecs-svc/123"},
		"task-set/lab/web/123":              {},
		"daemon/lab/agent":                  {Daemon, "lab", "daemon/agent"},
		"daemon-deployment/lab/agent/abc":   {DaemonDeployment, "lab", "daemon/agent/abc"},
		"daemon-revision/lab/agent/123":     {DaemonRevision, "lab", "daemon/agent/123"},
		"daemon-task-definition/f:1":        {DaemonDefinition, "", "daemon/f:1"},
		"daemon/agent":                      {},
		"daemon-task-definition/lab/f:1":    {},
		"task-definition/daemon/f:1":        {},
		"service/lab/daemon/agent":          {},
		"service-deployment/lab/daemon/a/b": {},
		"service-revision/lab/daemon/a/1":   {},
		"task-set/lab/daemon/a/ecs-svc/1":   {},
		"cluster/lab/other":                 {},
		"task-definition/lab/f:1":           {},
		"task/lab/other/0123":               {},
		"task/other/x:task/lab/y":           {},
		"container-instance/lab/other/0123": {},
		"service-deployment/lab/web":        {},
		"volume/x":                          {},
		"cluster":                           {},
		"cluster/":                          {},
		"":                                  {},
	} {
		got, err := ParseAny(prefix + given)
		if err != nil {
			got = Resource{}
		}
		if got != want {
			t.Errorf("%s: %+v, %v, want %+v", given, got, err, want)
		}
	}
}

func TestAnotherServiceAccountOrKindIsRefused(t *testing.T) {
	for given, says := range map[string]string{
		"arn:aws:s3:::bucket":                               "not an ARN of Amazon ECS",
		"arn:aws:ecs:us-east-1:000000000000:task/lab/0123":  "belongs to account 000000000000",
		"arn:aws:ecs:us-east-1:123456789012:cluster/lab":    "not the ARN of a container instance",
		"arn:aws:ecs:us-east-1:123456789012:task/lab/a/b/c": "not the ARN of a task",
		"arn:": "not an ARN of Amazon ECS",
	} {
		if _, err := Parse(ContainerInstance, given); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", given, err)
		}
	}
}

func TestANameIsTakenAsItIs(t *testing.T) {
	for kind, want := range map[string]Resource{Task: {Task, "", "x/y"}, Cluster: {Cluster, "x/y", "x/y"}} {
		if got, err := Parse(kind, "x/y"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
}

// Nobody names a daemon, or what it runs, where a service or a task definition is asked for.
func TestNamesOfDaemonsAreASpaceOfTheirOwn(t *testing.T) {
	for _, kind := range []string{Cluster, TaskDefinition, Task, ContainerInstance, CapacityProvider, Service, TaskSet, Daemon, DaemonDefinition} {
		if got, err := Parse(kind, "daemon/x"); err == nil {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	for kind, want := range map[string]Resource{DaemonDefinition: {DaemonDefinition, "", "daemon/f:1"}, TaskDefinition: {TaskDefinition, "", "f:1"}} {
		if got, err := Parse(kind, "f:1"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
	for given, want := range map[string]string{"web": "service/lab/web", "daemon/agent": "daemon/lab/agent"} {
		if got := InCluster(Service, Daemon, "lab", given); got != want {
			t.Errorf("%s: %s", given, got)
		}
	}
}
