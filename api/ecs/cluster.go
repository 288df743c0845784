package ecs

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

var resourceName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)

type clusterOutput struct {
	Cluster cluster `json:"cluster"`
}

// cluster is ECS's Cluster.
type cluster struct {
	ARN               string         `json:"clusterArn"`
	Name              string         `json:"clusterName"`
	Status            string         `json:"status"`
	Instances         int            `json:"registeredContainerInstancesCount"`
	Running           int            `json:"runningTasksCount"`
	Pending           int            `json:"pendingTasksCount"`
	ActiveServices    int            `json:"activeServicesCount"`
	Statistics        []keyValue     `json:"statistics"`
	Tags              []spec.Tag     `json:"tags"`
	Settings          []spec.Setting `json:"settings"`
	CapacityProviders []string       `json:"capacityProviders"`
	DefaultStrategy   []strategyItem `json:"defaultCapacityProviderStrategy"`
	Attachments       []struct{}     `json:"attachments,omitzero"` // those of capacity providers, which have none here
	AttachmentsStatus string         `json:"attachmentsStatus,omitempty"`

	Configuration  *spec.ClusterConfiguration `json:"configuration,omitempty"`
	ServiceConnect *serviceConnectDefaults    `json:"serviceConnectDefaults,omitempty"`
}

type keyValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type describeClustersInput struct {
	Clusters []string `json:"clusters"`
	Include  []string `json:"include"`
}

type describeClustersOutput struct {
	Clusters []cluster `json:"clusters"`
	Failures []failure `json:"failures"`
}

func (c *Request) describeClusters(_ context.Context, in *describeClustersInput) (*describeClustersOutput, error) {
	if err := allInEnum("include", in.Include, "ATTACHMENTS", "CONFIGURATIONS", "SETTINGS", "STATISTICS", "TAGS"); err != nil {
		return nil, err
	}
	if len(in.Clusters) > maxPage {
		return nil, wire.Errorf(wire.InvalidParameter, "clusters can have at most %d items.", maxPage)
	}
	if len(in.Clusters) == 0 {
		in.Clusters = []string{spec.DefaultCluster}
	}
	out := &describeClustersOutput{Clusters: []cluster{}, Failures: []failure{}}
	for _, given := range in.Clusters {
		r, err := parseResource("cluster", given)
		if err != nil {
			return nil, err
		}
		if known := c.View.Cluster(r.name); known != nil {
			out.Clusters = append(out.Clusters, c.renderCluster(known, in.Include))
			continue
		}
		out.Failures = append(out.Failures, failure{ARN: c.clusterARN(r.name), Reason: spec.ReasonMissing})
	}
	return out, nil
}

type listClustersInput struct {
	paging
}

type listClustersOutput struct {
	ARNs      []string `json:"clusterArns"`
	NextToken string   `json:"nextToken,omitempty"`
}

func (c *Request) listClusters(_ context.Context, in *listClustersInput) (*listClustersOutput, error) {
	active := slices.DeleteFunc(slices.Clone(c.View.Clusters()), func(k *spec.Cluster) bool {
		return k.Status != spec.ClusterActive || !c.Scope.Covers(k.Name)
	})
	page, next, err := paginate(in.paging, active, false, func(k *spec.Cluster) string { return k.Name })
	if err != nil {
		return nil, err
	}
	out := &listClustersOutput{ARNs: []string{}, NextToken: next}
	for _, k := range page {
		out.ARNs = append(out.ARNs, c.clusterARN(k.Name))
	}
	return out, nil
}

// resolveCluster finds the cluster that a request is about: a name, an ARN, or nothing for the default one.
func (c *Request) resolveCluster(given string) (*spec.Cluster, error) {
	r, err := parseResource("cluster", cmp.Or(given, spec.DefaultCluster))
	if err != nil {
		return nil, err
	}
	known := c.View.Cluster(r.name)
	if known == nil || known.Status != spec.ClusterActive {
		return nil, errNoCluster
	}
	return known, nil
}

// requireCluster is cluster for operations that mean no cluster when they name none.
func (c *Request) requireCluster(given string) (*spec.Cluster, error) {
	if given == "" {
		return nil, errBlankCluster
	}
	return c.resolveCluster(given)
}

var (
	errNoCluster    = wire.Errorf("ClusterNotFoundException", "Cluster not found.")
	errBlankCluster = wire.Errorf(wire.InvalidParameter, "Cluster can not be blank.")
)

// renderCluster derives a cluster's counters from its hosts and tasks.
func (c *Request) renderCluster(k *spec.Cluster, include []string) cluster {
	out := cluster{
		ARN: c.clusterARN(k.Name), Name: k.Name, Status: string(k.Status), Instances: len(c.View.Hosts(k.Name)),
		Statistics: []keyValue{}, Tags: []spec.Tag{}, Settings: []spec.Setting{},
		CapacityProviders: nonNil(k.CapacityProviders), DefaultStrategy: strategyOutput(k.DefaultStrategy),
	}
	count := countTasks(c.View.Tasks(k.Name))
	out.Running, out.Pending = count.running(), count.pending()
	if slices.Contains(include, "STATISTICS") {
		out.Statistics = slices.Concat(count.statistics(), c.capacityStatistics(k.Name))
	}
	if slices.Contains(include, "TAGS") {
		out.Tags = nonNil(k.Tags)
	}
	if slices.Contains(include, "SETTINGS") {
		out.Settings = k.Settings
		if len(k.Settings) == 0 {
			out.Settings = []spec.Setting{{Name: containerInsights.name, Value: containerInsights.values[0]}}
		}
	}
	if slices.Contains(include, "CONFIGURATIONS") {
		out.Configuration = k.Configuration
	}
	if slices.Contains(include, "ATTACHMENTS") {
		out.Attachments = []struct{}{}
		if len(k.CapacityProviders) > 0 {
			out.AttachmentsStatus = "UPDATE_COMPLETE" // a change of them is complete as soon as it is on record
		}
	}
	if k.Namespace != "" {
		out.ServiceConnect = &serviceConnectDefaults{k.Namespace}
	}
	return out
}

// capacityStatistics sums what the hosts of a cluster have and have left. These statistics are Pinion's own.
func (c *Request) capacityStatistics(name string) []keyValue {
	var cpu, memory, gpus, freeCPU, freeMemory, freeGPUs int64
	for _, host := range c.View.Hosts(name) {
		free := c.View.Free(host.ID)
		cpu, memory, gpus = cpu+host.CPU, memory+host.MemoryMiB, gpus+int64(len(host.GPUs.Devices))
		freeCPU, freeMemory, freeGPUs = freeCPU+free.CPU, freeMemory+free.MemoryMiB, freeGPUs+int64(len(free.GPUs))
	}
	return []keyValue{
		statistic("registeredCPU", cpu), statistic("remainingCPU", freeCPU),
		statistic("registeredMemory", memory), statistic("remainingMemory", freeMemory),
		statistic("registeredGPU", gpus), statistic("remainingGPU", freeGPUs),
	}
}

func statistic(name string, n int64) keyValue { return keyValue{name, strconv.FormatInt(n, 10)} }
