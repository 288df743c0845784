package view

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"pinion/api/audit"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/change"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// event is the envelope that Amazon EventBridge puts around ECS's events.
type event struct {
	Version    string   `json:"version"`
	ID         string   `json:"id"`
	DetailType string   `json:"detail-type"`
	Source     string   `json:"source"`
	Account    string   `json:"account"`
	Time       string   `json:"time"` // whole seconds
	Region     string   `json:"region"`
	Resources  []string `json:"resources"`
	Detail     any      `json:"detail"`
}

// detailTypes are the names of the kinds of events: five of ECS, and those of Pinion in their manner.
var detailTypes = map[raftfsm.ChangeKind]string{
	raftfsm.TaskChange:    "ECS Task State Change",
	raftfsm.HostChange:    "ECS Container Instance State Change",
	raftfsm.ClusterChange: "Pinion Cluster State Change",
	raftfsm.GPUChange:     "Pinion GPU State Change",
	raftfsm.LeaderChange:  "Pinion Leader State Change",

	raftfsm.ServiceChange:       "Pinion Service State Change",
	raftfsm.ServiceActionChange: "ECS Service Action",
	raftfsm.DeploymentChange:    "ECS Deployment State Change",
	raftfsm.HookChange:          "ECS Hook State Change",
}

// taskDetail is a task as DescribeTasks shows it, with tags.
type taskDetail struct {
	types.Task
	UpdatedAt wire.Time `json:"updatedAt,omitzero"`
}

// instanceDetail is a container instance as DescribeContainerInstances shows it, with tags.
type instanceDetail struct {
	types.ContainerInstance
	ClusterARN  string            `json:"clusterArn"`
	Change      change.Connection `json:"change,omitempty"`     // DISCONNECTED, LOST or BACK, of the event that says so
	LastHeardAt wire.Time         `json:"lastHeardAt,omitzero"` // while it is not connected
	UpdatedAt   wire.Time         `json:"updatedAt,omitzero"`
}

// leaderDetail is the server that leads since the event.
type leaderDetail struct {
	Host      string    `json:"host"` // its name; the id of a host that has not joined yet
	HostID    string    `json:"hostId"`
	Before    string    `json:"before,omitempty"` // name, or id, of the host that led before
	BeforeID  string    `json:"beforeId,omitempty"`
	Term      uint64    `json:"term"` // of Raft
	UpdatedAt wire.Time `json:"updatedAt,omitzero"`
}

// clusterDetail is a cluster as DescribeClusters shows it, with tags, settings and configuration.
type clusterDetail struct {
	types.Cluster
	Version   int64     `json:"version"` // the index of the change
	UpdatedAt wire.Time `json:"updatedAt,omitzero"`
}

// gpuDetail is a GPU, its host and its owner.
type gpuDetail struct {
	spec.HostGPU
	Status      string    `json:"status"` // ACTIVE, or INACTIVE when the host does not have it any more
	Host        string    `json:"host"`
	InstanceARN string    `json:"containerInstanceArn"`
	ClusterARN  string    `json:"clusterArn"`
	TaskARN     string    `json:"taskArn,omitempty"`   // of the task that owns it
	Container   string    `json:"container,omitempty"` // of that task
	Version     int64     `json:"version"`             // of the host
	UpdatedAt   wire.Time `json:"updatedAt,omitzero"`
}

// Event is a change as JSON, the same on every host but for members that follow from other objects: free resources, counters
// and owners of GPUs are those of the view, which must not be older than the change. Whether a host is connected is what the state
// says, which the leader follows with: within seconds.
func Event(change *raftfsm.Change, view *raftfsm.View, region string) ([]byte, error) {
	r := &Renderer{Region: region, View: view, Hosts: recordedConnectivity{view}}
	out := event{
		Version: "0", ID: eventID(view, change.Position), DetailType: detailTypes[change.Kind], Source: "aws.ecs", Account: spec.AccountID,
		Time: change.At.UTC().Format(time.RFC3339), Region: region,
	}
	at := wire.Time{}
	if !change.At.IsZero() {
		at = wire.NewTime(change.At)
	}
	switch change.Kind {
	case raftfsm.TaskChange:
		detail := &taskDetail{r.Task(change.Task(), true), at}
		out.Detail, out.Resources = detail, []string{detail.TaskARN}
	case raftfsm.HostChange:
		detail := r.instanceDetail(change, at)
		out.Detail, out.Resources = detail, []string{detail.ContainerInstanceARN}
	case raftfsm.ClusterChange:
		detail := &clusterDetail{r.Cluster(change.Cluster(), []string{"TAGS", "SETTINGS", "CONFIGURATIONS"}), int64(change.Position.Index), at}
		out.Detail, out.Resources = detail, []string{detail.ClusterARN}
	case raftfsm.GPUChange:
		detail := r.gpuDetail(change, at)
		out.Detail, out.Resources = detail, []string{detail.InstanceARN}
	case raftfsm.LeaderChange:
		out.Detail, out.Resources = r.leaderDetail(change.Object.(*raftfsm.Leader), at), []string{}
	case raftfsm.ServiceChange, raftfsm.ServiceActionChange, raftfsm.DeploymentChange:
		detail, serviceARN := r.serviceDetail(change, at)
		out.Detail, out.Resources = detail, []string{serviceARN}
	case raftfsm.HookChange:
		detail := r.hookDetail(change.Object.(*service.HookChange), at)
		out.Detail, out.Resources = detail, []string{detail.ServiceDeploymentARN}
	default:
		return nil, fmt.Errorf("a change of a %q has no event", change.Kind)
	}
	wire.UseISO8601(out.Detail)
	return json.Marshal(out)
}

func (r *Renderer) instanceDetail(change *raftfsm.Change, at wire.Time) *instanceDetail {
	host := change.Host()
	detail := &instanceDetail{
		ContainerInstance: r.Instance(host, []string{"TAGS"}), ClusterARN: r.ClusterARN(change.ClusterName), Change: change.Connection, UpdatedAt: at,
	}
	detail.AgentConnected = !host.Lost() && !host.Silent() // as of the change
	if host.Silent() {
		detail.LastHeardAt = wire.NewTime(host.Connection.Heard)
	}
	if change.Deleted {
		detail.Status, detail.AgentConnected = InstanceInactive, false
	}
	return detail
}

func (r *Renderer) leaderDetail(l *raftfsm.Leader, at wire.Time) *leaderDetail {
	name := func(id string) string {
		if host := r.View.Host(id); host != nil {
			return host.Name
		}
		return id
	}
	return &leaderDetail{Host: name(l.HostID), HostID: l.HostID, Before: name(l.Before), BeforeID: l.Before, Term: l.Term, UpdatedAt: at}
}

func (r *Renderer) gpuDetail(change *raftfsm.Change, at wire.Time) *gpuDetail {
	host := change.Host()
	detail := &gpuDetail{
		HostGPU: *change.GPU(), Status: InstanceActive, Host: host.Name, InstanceARN: r.InstanceARN(host.Cluster, host.ID),
		ClusterARN: r.ClusterARN(host.Cluster), Version: host.Revision, UpdatedAt: at,
	}
	if change.Deleted {
		detail.Status = InstanceInactive
	}
	for _, task := range r.View.TasksOn(host.ID) {
		for _, container := range task.Containers {
			for _, uuid := range container.GPUs {
				if uuid == change.GPU().UUID && task.LastStatus != spec.Stopped {
					detail.TaskARN, detail.Container = r.TaskARN(task.Cluster, task.ID), container.Name
				}
			}
		}
	}
	return detail
}

// Refusal is what a host has refused, as JSON in the envelope of an event.
func Refusal(e audit.Line, region string) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(event{
		Version: "0", ID: uuidOf(text), DetailType: "Pinion Refusal", Source: "aws.ecs", Account: spec.AccountID,
		Time: e.Time.UTC().Format(time.RFC3339), Region: region, Resources: []string{}, Detail: json.RawMessage(text),
	})
}

// recordedConnectivity answers from the state alone, which is the same on every host.
type recordedConnectivity struct{ view *raftfsm.View }

// Connected is false once the host was recorded as silent, or the pool has given it up.
func (c recordedConnectivity) Connected(hostID string) bool {
	host := c.view.Host(hostID)
	return host != nil && !host.Lost() && !host.Silent()
}

// eventID is a UUID that only this change has, whichever host renders it.
func eventID(view *raftfsm.View, position raftfsm.Position) string {
	pool := ""
	if p := view.Pool(); p != nil {
		pool = p.ID
	}
	return uuidOf([]byte(pool + "/" + strconv.Itoa(view.Settings().Incarnation) + "/" + strconv.FormatUint(position.Index, 10) + "/" + strconv.Itoa(position.Offset)))
}

// uuidOf is a UUID that follows from a text.
func uuidOf(text []byte) string {
	b := sha256.Sum256(text)
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8 of RFC 9562: made our own way
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
