package spec

import (
	"pinion/raftfsm/envfile"
	"pinion/raftfsm/firelens"
	"pinion/raftfsm/linux"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/valuefrom"
)

// ContainerDefinition is one container of a task definition, as ECS documents it.
type ContainerDefinition struct {
	Name                   string                   `json:"name"`
	Image                  string                   `json:"image"`
	CPU                    int64                    `json:"cpu"`                         // units: weight of this container within the task
	Memory                 int64                    `json:"memory,omitempty"`            // MiB, hard limit
	MemoryReservation      int64                    `json:"memoryReservation,omitempty"` // MiB, soft limit, what placement counts when given
	Essential              *bool                    `json:"essential"`                   // never nil once stored
	EntryPoint             []string                 `json:"entryPoint,omitempty"`
	Command                []string                 `json:"command,omitempty"`
	Environment            []KeyValue               `json:"environment"`
	WorkingDirectory       string                   `json:"workingDirectory,omitempty"`
	User                   string                   `json:"user,omitempty"`
	Hostname               string                   `json:"hostname,omitempty"`
	PortMappings           []PortMapping            `json:"portMappings"`
	MountPoints            []MountPoint             `json:"mountPoints"`
	VolumesFrom            []VolumeFrom             `json:"volumesFrom"`
	LinuxParameters        *LinuxParameters         `json:"linuxParameters,omitempty"`
	Ulimits                []Ulimit                 `json:"ulimits,omitempty"`
	LogConfiguration       *logdriver.Configuration `json:"logConfiguration,omitempty"`
	ResourceRequirements   []ResourceRequirement    `json:"resourceRequirements,omitempty"`
	StopTimeout            *int                     `json:"stopTimeout,omitempty"` // seconds from SIGTERM to SIGKILL, 30 when nil
	Privileged             *bool                    `json:"privileged,omitempty"`
	ReadonlyRootFilesystem *bool                    `json:"readonlyRootFilesystem,omitempty"`
	PseudoTerminal         *bool                    `json:"pseudoTerminal,omitempty"`
	Interactive            *bool                    `json:"interactive,omitempty"`
	DockerLabels           map[string]string        `json:"dockerLabels,omitempty"`

	HealthCheck        *HealthCheck          `json:"healthCheck,omitempty"`
	DependsOn          []ContainerDependency `json:"dependsOn,omitempty"`
	StartTimeout       *int                  `json:"startTimeout,omitempty"` // seconds that others wait for what they depend on; nil: for ever
	RestartPolicy      *RestartPolicy        `json:"restartPolicy,omitempty"`
	ExtraHosts         []ExtraHost           `json:"extraHosts,omitempty"`
	DNSServers         []string              `json:"dnsServers,omitempty"`       // in place of the host's
	DNSSearchDomains   []string              `json:"dnsSearchDomains,omitempty"` // in place of the host's
	SystemControls     []SystemControl       `json:"systemControls,omitempty"`
	VersionConsistency string                `json:"versionConsistency,omitempty"` // enabled when empty; see ResolvesOnce
	// DockerSecurityOptions can only tighten: see linux.ValidSecurityOption.
	DockerSecurityOptions []string                         `json:"dockerSecurityOptions,omitempty" level:"1"`
	Secrets               []valuefrom.Secret               `json:"secrets,omitempty" level:"1"`
	RepositoryCredentials *valuefrom.RepositoryCredentials `json:"repositoryCredentials,omitempty" level:"1"`
	Links                 []string                         `json:"links,omitempty" level:"1"` // "container" or "container:alias" of the task
	EnvironmentFiles      []envfile.File                   `json:"environmentFiles,omitempty" level:"1"`
	DisableNetworking     *bool                            `json:"disableNetworking,omitempty" level:"1"` // no network, whatever the others of the task have
	FirelensConfiguration *firelens.Configuration          `json:"firelensConfiguration,omitempty" level:"1"`
}

// LogRouter is the container that gets the lines of those with the log driver awsfirelens; nil: the task has none.
func (d *TaskDefinition) LogRouter() *ContainerDefinition {
	for i := range d.Containers {
		if d.Containers[i].FirelensConfiguration != nil {
			return &d.Containers[i]
		}
	}
	return nil
}

// HasNoNetwork reports whether the container has no network, whatever the task's mode is.
func (c *ContainerDefinition) HasNoNetwork() bool {
	return c.DisableNetworking != nil && *c.DisableNetworking
}

// IsEssential reports whether the exit of this container ends the task (the default).
func (c *ContainerDefinition) IsEssential() bool { return c.Essential == nil || *c.Essential }

// NoNewPrivileges reports whether no process of the container gains privileges by running a setuid program.
func (c *ContainerDefinition) NoNewPrivileges() bool {
	return linux.NoNewPrivileges(c.DockerSecurityOptions)
}

// AppArmorProfile is the profile of the host that confines the container beside the default one; empty: none.
func (c *ContainerDefinition) AppArmorProfile() string {
	return linux.AppArmorProfile(c.DockerSecurityOptions)
}

// KeyValue is an environment variable or an option.
type KeyValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// PortMapping publishes a container port on the host. HostPort 0 in bridge mode means any free one.
type PortMapping struct {
	ContainerPort      int    `json:"containerPort,omitempty"`
	HostPort           int    `json:"hostPort"`
	Protocol           string `json:"protocol"` // tcp or udp
	Name               string `json:"name,omitempty"`
	AppProtocol        string `json:"appProtocol,omitempty"`                  // http, http2 or grpc: what Service Connect carries; empty: TCP
	ContainerPortRange string `json:"containerPortRange,omitempty" level:"1"` // a hostport.Range in place of ContainerPort
}

// MountPoint mounts one of the task's volumes into a container.
type MountPoint struct {
	SourceVolume  string `json:"sourceVolume,omitempty"`
	ContainerPath string `json:"containerPath,omitempty"`
	ReadOnly      bool   `json:"readOnly,omitempty"`
}

// VolumeFrom mounts what another container of the task mounts, at the same paths. ReadOnly mounts it to be read only;
// what the other one may only read stays so.
type VolumeFrom struct {
	SourceContainer string `json:"sourceContainer,omitempty"`
	ReadOnly        bool   `json:"readOnly,omitempty"`
}

// LinuxParameters are the kernel-level options of a container.
type LinuxParameters struct {
	Capabilities       *Capabilities  `json:"capabilities,omitempty"`
	InitProcessEnabled *bool          `json:"initProcessEnabled,omitempty"`
	SharedMemorySize   int64          `json:"sharedMemorySize,omitempty"` // MiB of /dev/shm
	Tmpfs              []Tmpfs        `json:"tmpfs,omitempty"`
	Devices            []linux.Device `json:"devices,omitempty" level:"1"`
	MaxSwap            *int64         `json:"maxSwap,omitempty" level:"1"`    // MiB of swap beside its memory; nil: as much as its memory, where the host counts swap
	Swappiness         *int64         `json:"swappiness,omitempty" level:"1"` // 0 to linux.MaxSwappiness; without MaxSwap it has no effect, as on ECS
}

// Capabilities adds to and takes from the default set ("ALL" or names without CAP_).
type Capabilities struct {
	Add  []string `json:"add,omitempty"`
	Drop []string `json:"drop,omitempty"`
}

// Tmpfs is a memory file system inside the container; Size in MiB.
type Tmpfs struct {
	ContainerPath string   `json:"containerPath"`
	Size          int64    `json:"size"`
	MountOptions  []string `json:"mountOptions,omitempty"`
}

// Ulimit is one resource limit; -1 means unlimited.
type Ulimit struct {
	Name      string `json:"name"`
	SoftLimit int64  `json:"softLimit"`
	HardLimit int64  `json:"hardLimit"`
}

// Conditions of a Dependency, in the order in which a container comes to meet them.
const (
	DependStart    = "START"    // the other container has started
	DependComplete = "COMPLETE" // it has ended
	DependSuccess  = "SUCCESS"  // it has ended with exit code 0
	DependHealthy  = "HEALTHY"  // its health check has passed
)

// ContainerDependency holds a container back until another container of the task meets the condition. The containers of a
// task are stopped in the opposite order.
type ContainerDependency struct {
	ContainerName string `json:"containerName"`
	Condition     string `json:"condition"`
}

// Health of a container as its health check sees it. Empty is unknown: no check, or none has decided yet.
type Health string

// What a health check can find.
const (
	Healthy   Health = "HEALTHY"
	Unhealthy Health = "UNHEALTHY"
)

// HealthCheck is a command that the host runs inside the container from time to time; exit code 0 is healthy. Command
// begins with CMD (the words of a command follow) or CMD-SHELL (one line for /bin/sh follows). Times are in seconds.
type HealthCheck struct {
	Command     []string `json:"command"`
	Interval    int      `json:"interval"`              // 5 to 300, between the end of a check and the next
	Timeout     int      `json:"timeout"`               // 2 to 120, after which a check has failed
	Retries     int      `json:"retries"`               // 1 to 10 failures in a row make the container UNHEALTHY
	StartPeriod *int     `json:"startPeriod,omitempty"` // 0 to 300 at first, in which failures do not count
}

// RestartPolicy starts a container again, in its place, when it has ended by itself after it ran for a while.
type RestartPolicy struct {
	Enabled              bool  `json:"enabled"`
	IgnoredExitCodes     []int `json:"ignoredExitCodes,omitempty"`     // after these it stays ended
	RestartAttemptPeriod *int  `json:"restartAttemptPeriod,omitempty"` // seconds that it must have run, 300 when nil
}

// ExtraHost is a line of the container's /etc/hosts.
type ExtraHost struct {
	Hostname  string `json:"hostname"`
	IPAddress string `json:"ipAddress"`
}

// SystemControl sets a kernel parameter within the container's own namespaces, "net.core.somaxconn".
type SystemControl struct {
	Namespace string `json:"namespace"`
	Value     string `json:"value"`
}
