package ecs

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm"
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

// detailTypes are the names of the kinds of events: two of ECS, and two of ours in their manner.
var detailTypes = map[raftfsm.ChangeKind]string{
	raftfsm.TaskChange:    "ECS Task State Change",
	raftfsm.HostChange:    "ECS Container Instance State Change",
	raftfsm.ClusterChange: "Pinion Cluster State Change",
	raftfsm.GPUChange:     "Pinion GPU State Change",
}

// taskDetail is what DescribeTasks shows, with tags, and more.
type taskDetail struct {
	task
	UpdatedAt wire.Time `json:"updatedAt,omitzero"`
}

// instanceDetail is what DescribeContainerInstances shows, with tags, and more.
type instanceDetail struct {
	containerInstance
	ClusterARN string    `json:"clusterArn"`
	UpdatedAt  wire.Time `json:"updatedAt,omitzero"`
}

// clusterDetail is what DescribeClusters shows, with tags, settings and configuration, and more.
type clusterDetail struct {
	cluster
	Version   int64     `json:"version"` // the index of the change
	UpdatedAt wire.Time `json:"updatedAt,omitzero"`
}

// gpuDetail is a GPU and where it is.
type gpuDetail struct {
	raftfsm.HostGPU
	Status      string    `json:"status"` // ACTIVE, or INACTIVE when the host does not have it any more
	Host        string    `json:"host"`
	InstanceARN string    `json:"containerInstanceArn"`
	ClusterARN  string    `json:"clusterArn"`
	TaskARN     string    `json:"taskArn,omitempty"`   // of the task that owns it
	Container   string    `json:"container,omitempty"` // of that task
	Version     int64     `json:"version"`             // of the host
	UpdatedAt   wire.Time `json:"updatedAt,omitzero"`
}

// Event is a change as JSON, the same on every host but for what is derived from other objects: free resources, counters and
// who owns a GPU are those of the view, which must not be older than the change. A host counts as connected until the
// pool gives it up, because only that is in the state.
func Event(change *raftfsm.Change, view *raftfsm.View, region string) ([]byte, error) {
	c := &Request{Region: region, View: view, Store: eventStore{view: view}}
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
		detail := &taskDetail{c.renderTask(change.Task(), true), at}
		out.Detail, out.Resources = detail, []string{detail.TaskARN}
	case raftfsm.HostChange:
		detail := c.renderInstanceDetail(change, at)
		out.Detail, out.Resources = detail, []string{detail.ARN}
	case raftfsm.ClusterChange:
		detail := &clusterDetail{c.renderCluster(change.Cluster(), []string{"TAGS", "SETTINGS", "CONFIGURATIONS"}), int64(change.Position.Index), at}
		out.Detail, out.Resources = detail, []string{detail.ARN}
	case raftfsm.GPUChange:
		detail := c.renderGPUDetail(change, at)
		out.Detail, out.Resources = detail, []string{detail.InstanceARN}
	default:
		return nil, fmt.Errorf("a change of a %q has no event", change.Kind)
	}
	wire.UseISO8601(out.Detail)
	return json.Marshal(out)
}

func (c *Request) renderInstanceDetail(change *raftfsm.Change, at wire.Time) *instanceDetail {
	detail := &instanceDetail{c.renderInstance(change.Host(), []string{"TAGS"}), c.clusterARN(change.ClusterName), at}
	if change.Deleted {
		detail.Status, detail.AgentConnected = statusInactive, false
	}
	return detail
}

const (
	statusActive   = "ACTIVE"
	statusInactive = "INACTIVE"
)

func (c *Request) renderGPUDetail(change *raftfsm.Change, at wire.Time) *gpuDetail {
	host := change.Host()
	detail := &gpuDetail{
		HostGPU: *change.GPU(), Status: statusActive, Host: host.Name, InstanceARN: c.instanceARN(host.Cluster, host.ID),
		ClusterARN: c.clusterARN(host.Cluster), Version: host.Revision, UpdatedAt: at,
	}
	if change.Deleted {
		detail.Status = statusInactive
	}
	for _, task := range c.View.TasksOn(host.ID) {
		for _, container := range task.Containers {
			for _, uuid := range container.GPUs {
				if uuid == change.GPU().UUID && task.LastStatus != spec.Stopped {
					detail.TaskARN, detail.Container = c.taskARN(task.Cluster, task.ID), container.Name
				}
			}
		}
	}
	return detail
}

// eventStore answers from the state alone, which is the same everywhere.
type eventStore struct {
	Store // nil: events change nothing
	view  *raftfsm.View
}

// Connected is false once the pool has given the host up.
func (r eventStore) Connected(hostID string) bool {
	host := r.view.Host(hostID)
	return host != nil && !host.Lost()
}

// eventID is a UUID that only this change has, whoever tells it.
func eventID(view *raftfsm.View, mark raftfsm.Position) string {
	pool := ""
	if p := view.Pool(); p != nil {
		pool = p.ID
	}
	b := sha256.Sum256([]byte(pool + "/" + strconv.Itoa(view.Settings().Incarnation) + "/" + strconv.FormatUint(mark.Index, 10) + "/" + strconv.Itoa(mark.Offset)))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8 of RFC 9562: made our own way
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
