package metadata

import (
	"cmp"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/hostport"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/tasknetwork"
)

// container is a container that an endpoint serves.
type container struct {
	id       string // in its addresses
	of       *task.Container
	service  *Service
	address  string // IPv4, empty when it has none of its own
	taskID   string
	taskARN  string
	requests *rate.Limiter
	changes  *rate.Limiter // of the protection of its task
	atOnce   slots         // requests that are answered
	role     string        // of the task, that the pool has; empty: none
	key      key
}

func (c *container) metadata(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, c.describe(c.of))
}

func (c *container) taskMetadata(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, c.describeTask())
}

func (c *container) taskWithTags(w http.ResponseWriter, r *http.Request) {
	document := c.describeTask()
	document.TaskTags = byKey(task.Describe(c.of).Tags)
	document.ContainerInstanceTags = byKey(c.service.hostTags.get(r.Context(), time.Now(), c.service.config.HostTags))
	reply(w, http.StatusOK, document)
}

func byKey(tags []spec.Tag) map[string]string {
	values := make(map[string]string, len(tags))
	for _, tag := range tags {
		values[tag.Key] = tag.Value
	}
	return values
}

// describeTask is the task with all of its containers.
func (c *container) describeTask() taskDocument {
	d := task.Describe(c.of)
	t, definition, report := d.Task, d.Definition, d.Report
	document := taskDocument{
		Cluster: c.service.arn("cluster/" + t.Cluster), TaskARN: c.taskARN,
		Family: definition.Family, Revision: revisionText(definition), Group: t.Group, DesiredStatus: desired(d), KnownStatus: string(report.Status),
		PullStartedAt: moment(report.Times.PullStarted), PullStoppedAt: moment(report.Times.PullStopped), ExecutionStoppedAt: moment(report.Times.ExecutionStopped),
		AvailabilityZone: c.service.zone(), LaunchType: cmp.Or(t.LaunchType, "EC2"), Containers: []containerDocument{},
	}
	if t.Service != nil {
		document.ServiceName = c.service.nameOfService(t)
	}
	document.Limits = taskLimits(definition)
	for _, other := range d.Siblings {
		document.Containers = append(document.Containers, c.describe(other))
	}
	return document
}

// describe is one container of the task.
func (c *container) describe(of *task.Container) containerDocument {
	d := task.Describe(of)
	t, definition, def, report := d.Task, d.Definition, of.Def, d.Container
	document := containerDocument{
		identity: identity{DockerID: of.ID, Name: def.Name, DockerName: of.ID, Image: def.Image, ImageID: report.ImageDigest}, Labels: map[string]string{},
		DesiredStatus: desired(d), KnownStatus: string(report.Status), ExitCode: report.ExitCode, Type: "NORMAL",
		LogDriver: logdriver.JSONFile, GPUs: of.GPUs, Volumes: volumesOf(def),
		Limits: containerLimits{CPU: float64(def.CPU), Memory: def.Memory},
		runs:   runs{CreatedAt: moment(d.StartedAt), StartedAt: moment(d.StartedAt), FinishedAt: moment(d.FinishedAt)},
	}
	for name, value := range def.DockerLabels {
		document.Labels[name] = value
	}
	for name, value := range map[string]string{
		"cluster": c.service.arn("cluster/" + t.Cluster), "container-name": def.Name, "task-arn": c.taskARN,
		"task-definition-family": definition.Family, "task-definition-version": revisionText(definition),
	} {
		document.Labels["com.amazonaws.ecs."+name] = value
	}
	for i := range t.Containers {
		if known := &t.Containers[i]; known.Name == def.Name {
			document.ContainerARN = c.service.arn("container/" + t.Cluster + "/" + t.ID + "/" + known.ID)
		}
	}
	if policy := def.RestartPolicy; policy != nil && policy.Enabled {
		document.RestartCount = &d.Restarted
	}
	if def.LogConfiguration != nil {
		document.LogDriver, document.LogOptions = def.LogConfiguration.LogDriver, c.service.logOptions(t.ID, def)
	}
	for _, b := range report.Bindings {
		host, container := hostport.Published(b.HostPortRange, b.HostPort, b.ContainerPortRange, b.ContainerPort)
		for i := range host.Size() {
			document.Ports = append(document.Ports, portDocument{ContainerPort: container.First + i, Protocol: b.Protocol, HostPort: host.First + i, HostIP: b.BindIP})
		}
	}
	if def.HealthCheck != nil {
		document.Health = &healthDocument{Status: cmp.Or(string(report.Health), "UNKNOWN")}
	}
	network := networkDocument{NetworkMode: cmp.Or(definition.NetworkMode, runtime.NetworkBridge)}
	if address := c.service.addressOf(of.ID); address != "" {
		network.IPv4Addresses = []string{address}
		if network.NetworkMode == runtime.NetworkAwsvpc {
			network.subnetDocument = c.service.taskSubnet()
		}
	}
	document.Networks = []networkDocument{network}
	return document
}

// desired is the desired status of the task: from its stop on, STOPPED.
func desired(d task.Description) string {
	if d.Report.Status.Rank() >= spec.Stopping.Rank() {
		return string(spec.Stopped)
	}
	return string(spec.Running)
}

// moment is a time as documents have it; nil for one that has not come.
func moment(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

func volumesOf(def *spec.ContainerDefinition) (all []volumeDocument) {
	for _, m := range def.MountPoints {
		all = append(all, volumeDocument{DockerName: m.SourceVolume, Destination: m.ContainerPath})
	}
	return all
}

// taskSubnet describes the subnet of tasks with an address of their own, whose gateway is this host; nil when it has none.
func (s *Service) taskSubnet() *subnetDocument {
	if s.config.TaskSubnet == nil {
		return nil
	}
	subnet := s.config.TaskSubnet()
	gateway, err := tasknetwork.Gateway(subnet)
	if err != nil {
		return nil
	}
	return &subnetDocument{IPv4SubnetCIDRBlock: subnet, SubnetGatewayIpv4Address: gateway.String()}
}
