package metadata

import (
	"strconv"
	"time"

	"pinion/raftfsm/spec"
)

// The documents of version 4 of the task metadata endpoint, with the names of Amazon's:
// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4.html

type taskDocument struct {
	Cluster, TaskARN, Family, Revision string
	ServiceName                        string            `json:",omitempty"`
	Group                              string            `json:",omitempty"`
	DesiredStatus                      string            `json:",omitempty"`
	KnownStatus                        string            //
	Limits                             *taskLimitsOf     `json:",omitempty"`
	PullStartedAt                      *time.Time        `json:",omitempty"`
	PullStoppedAt                      *time.Time        `json:",omitempty"`
	ExecutionStoppedAt                 *time.Time        `json:",omitempty"`
	AvailabilityZone                   string            `json:",omitempty"`
	LaunchType                         string            //
	TaskTags                           map[string]string `json:",omitempty"`
	ContainerInstanceTags              map[string]string `json:",omitempty"`
	FaultInjectionEnabled              bool              // there is none
	Containers                         []containerDocument
}

type taskLimitsOf struct {
	CPU    float64 `json:",omitempty"` // vCPUs
	Memory int64   `json:",omitempty"` // MiB
}

// identity identifies a container.
type identity struct {
	DockerID   string `json:"DockerId"`
	Name       string
	DockerName string
	Image      string
	ImageID    string // digest of the manifest
}

type containerDocument struct {
	identity
	Ports         []portDocument `json:",omitempty"`
	Labels        map[string]string
	DesiredStatus string
	KnownStatus   string
	ExitCode      *int `json:",omitempty"`
	Limits        containerLimits
	runs
	Type         string
	ContainerARN string            `json:",omitempty"`
	LogDriver    string            `json:",omitempty"`
	LogOptions   map[string]string `json:",omitempty"`
	Health       *healthDocument   `json:",omitempty"`
	Volumes      []volumeDocument  `json:",omitempty"`
	Networks     []networkDocument `json:",omitempty"`
	GPUs         []string          `json:"GpuIds,omitempty"` // Pinion's own: ECS tells them by DescribeTasks alone
}

// runs has the times at which a container was made, started and ended.
type runs struct {
	CreatedAt    *time.Time `json:",omitempty"`
	StartedAt    *time.Time `json:",omitempty"`
	FinishedAt   *time.Time `json:",omitempty"` // for good
	RestartCount *int64     `json:",omitempty"` // of a container with a restart policy
}

type containerLimits struct {
	CPU    float64 // units
	Memory int64   `json:",omitempty"` // MiB
}

type portDocument struct {
	ContainerPort int
	Protocol      string
	HostPort      int    `json:",omitempty"`
	HostIP        string `json:"HostIp,omitempty"`
}

type healthDocument struct {
	Status string `json:"status"`
}

type volumeDocument struct {
	DockerName  string `json:",omitempty"`
	Destination string
}

type networkDocument struct {
	NetworkMode   string
	IPv4Addresses []string `json:",omitempty"`
	*subnetDocument
}

// subnetDocument tells a task with an address of its own what that is in.
type subnetDocument struct {
	AttachmentIndex          int // a task has one
	IPv4SubnetCIDRBlock      string
	SubnetGatewayIpv4Address string
}

// taskLimits are the limits of a whole task; nil when it has none.
func taskLimits(d *spec.TaskDefinition) *taskLimitsOf {
	units, _ := strconv.ParseInt(d.CPU, 10, 64) // they were checked
	memory, _ := strconv.ParseInt(d.Memory, 10, 64)
	if units == 0 && memory == 0 {
		return nil
	}
	return &taskLimitsOf{CPU: float64(units) / 1024, Memory: memory}
}

func revisionText(d *spec.TaskDefinition) string { return strconv.Itoa(d.Revision) }
