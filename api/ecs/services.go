package ecs

import (
	"context"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// The operations that look for what does not exist here: services and what belongs to them. They answer as ECS answers
// where there is none, so that clients that look around go on.

// maxServices is ECS's limit for one DescribeServices.
const maxServices = 10

type listServicesInput struct {
	paging
	Cluster            string `json:"cluster"`
	LaunchType         string `json:"launchType"`
	SchedulingStrategy string `json:"schedulingStrategy"`
	ResourceManagement string `json:"resourceManagementType"`
}

type listServicesOutput struct {
	ARNs []string `json:"serviceArns"`
}

func (c *Request) listServices(_ context.Context, in *listServicesInput) (*listServicesOutput, error) {
	if _, err := c.resolveCluster(in.Cluster); err != nil {
		return nil, err
	}
	if err := inEnum("launchType", in.LaunchType, launchEC2, "FARGATE", launchExternal, "MANAGED_INSTANCES"); err != nil {
		return nil, err
	}
	if err := inEnum("schedulingStrategy", in.SchedulingStrategy, "REPLICA", "DAEMON"); err != nil {
		return nil, err
	}
	if err := inEnum("resourceManagementType", in.ResourceManagement, "CUSTOMER", "ECS"); err != nil {
		return nil, err
	}
	return &listServicesOutput{[]string{}}, in.checkEmptyList()
}

// checkEmptyList checks the paging of a list that is always empty.
func (p paging) checkEmptyList() error {
	_, _, err := paginate(p, []string{}, false, strings.Clone)
	return err
}

type describeServicesInput struct {
	Cluster  string   `json:"cluster"`
	Services []string `json:"services"`
	Include  []string `json:"include"`
}

type describeServicesOutput struct {
	Services []struct{} `json:"services"`
	Failures []failure  `json:"failures"`
}

func (c *Request) describeServices(_ context.Context, in *describeServicesInput) (*describeServicesOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := allInEnum("include", in.Include, "TAGS"); err != nil {
		return nil, err
	}
	if len(in.Services) == 0 {
		return nil, wire.Errorf(wire.InvalidParameter, "Services cannot be empty.")
	}
	if len(in.Services) > maxServices {
		return nil, wire.Errorf(wire.InvalidParameter, "services can have at most %d items.", maxServices)
	}
	out := &describeServicesOutput{Services: []struct{}{}, Failures: []failure{}}
	for _, given := range in.Services {
		name, err := parseInCluster(k.Name, "service", given)
		if err != nil {
			return nil, err
		}
		out.Failures = append(out.Failures, failure{ARN: c.arn("service/" + k.Name + "/" + name), Reason: spec.ReasonMissing})
	}
	return out, nil
}

type listByNamespaceInput struct {
	paging
	Namespace string `json:"namespace"`
}

func (c *Request) listServicesByNamespace(_ context.Context, in *listByNamespaceInput) (*listServicesOutput, error) {
	if err := in.checkEmptyList(); err != nil {
		return nil, err
	}
	return nil, wire.Errorf("NamespaceNotFoundException", "The namespace %s was not found: there is no service discovery here.", in.Namespace)
}

type listDeploymentsInput struct {
	paging
	Cluster   string   `json:"cluster"`
	Service   string   `json:"service"`
	Status    []string `json:"status"`
	CreatedAt any      `json:"createdAt"`
}

type listDeploymentsOutput struct {
	Deployments []struct{} `json:"serviceDeployments"`
}

func (c *Request) listServiceDeployments(_ context.Context, in *listDeploymentsInput) (*listDeploymentsOutput, error) {
	if _, err := c.resolveCluster(in.Cluster); err != nil {
		return nil, err
	}
	if err := in.checkEmptyList(); err != nil {
		return nil, err
	}
	return nil, wire.Errorf("ServiceNotFoundException", "Service not found.")
}

type describeDeploymentsInput struct {
	ARNs []string `json:"serviceDeploymentArns"`
}

type describeDeploymentsOutput struct {
	Deployments []struct{} `json:"serviceDeployments"`
	Failures    []failure  `json:"failures"`
}

func (c *Request) describeServiceDeployments(_ context.Context, in *describeDeploymentsInput) (*describeDeploymentsOutput, error) {
	if len(in.ARNs) == 0 || len(in.ARNs) > maxServices*2 {
		return nil, wire.Errorf(wire.InvalidParameter, "serviceDeploymentArns must have 1 to %d items, not %d.", maxServices*2, len(in.ARNs))
	}
	out := &describeDeploymentsOutput{Deployments: []struct{}{}, Failures: []failure{}}
	for _, arn := range in.ARNs {
		out.Failures = append(out.Failures, failure{ARN: arn, Reason: spec.ReasonMissing})
	}
	return out, nil
}
