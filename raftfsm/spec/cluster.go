package spec

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/gpufault"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/imagepolicy"
)

// DefaultCluster always exists; requests that name no cluster mean it.
const DefaultCluster = "default"

// AccountID is iam.AccountID.
const AccountID = iam.AccountID

// ClusterStatus is ECS's cluster status.
type ClusterStatus string

// Statuses of a cluster; an inactive one is kept for a while and can be described.
const (
	ClusterActive   ClusterStatus = "ACTIVE"
	ClusterInactive ClusterStatus = "INACTIVE"
)

// Cluster is a named pool of hosts and the tasks on it. Its counters are derived from hosts and tasks, never stored.
type Cluster struct {
	Name      string        `json:"name"`
	Status    ClusterStatus `json:"status"`
	Tags      []Tag         `json:"tags,omitempty"`
	Settings  []Setting     `json:"settings,omitempty"` // those of Rules have an effect, others are accepted and shown
	CreatedAt time.Time     `json:"createdAt"`

	Configuration *ClusterConfiguration `json:"configuration,omitempty"`    // accepted and shown, without effect
	Namespace     string                `json:"serviceNamespace,omitempty"` // of service connect, by name or ARN; empty: Name
	DeletedAt     time.Time             `json:"deletedAt,omitzero"`         // when it became INACTIVE

	CapacityProviders []string                       `json:"capacityProviders,omitempty"` // queues, beside the built-in one
	DefaultStrategy   []CapacityProviderStrategyItem `json:"defaultStrategy,omitempty"`   // of runs that do not say how
}

// Setting is a cluster setting such as containerInsights.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ClusterConfiguration is ECS's configuration of a cluster. The JSON names are ECS's.
type ClusterConfiguration struct {
	ExecuteCommand *ExecuteCommandConfiguration `json:"executeCommandConfiguration,omitempty"`
	ManagedStorage *ManagedStorageConfiguration `json:"managedStorageConfiguration,omitempty"`
}

// ExecuteCommandConfiguration says where the sessions of ExecuteCommand are logged. Logging is NONE, DEFAULT or OVERRIDE.
type ExecuteCommandConfiguration struct {
	KMSKeyID string                   `json:"kmsKeyId,omitempty"`
	Logging  string                   `json:"logging,omitempty"`
	Log      *ExecuteCommandLogTarget `json:"logConfiguration,omitempty"`
}

// ExecuteCommandLogTarget is the destination of their logs when Logging is OVERRIDE.
type ExecuteCommandLogTarget struct {
	LogGroup    string `json:"cloudWatchLogGroupName,omitempty"`
	EncryptLogs *bool  `json:"cloudWatchEncryptionEnabled,omitempty"`
	S3Bucket    string `json:"s3BucketName,omitempty"`
	EncryptS3   *bool  `json:"s3EncryptionEnabled,omitempty"`
	S3KeyPrefix string `json:"s3KeyPrefix,omitempty"`
}

// ManagedStorageConfiguration names the keys that AWS encrypts storage with.
type ManagedStorageConfiguration struct {
	KMSKeyID        string `json:"kmsKeyId,omitempty"`
	FargateKMSKeyID string `json:"fargateEphemeralStorageKmsKeyId,omitempty"`
}

// Why a cluster cannot be deleted.
var (
	ErrClusterHasTasks = fmt.Errorf("%w: it has tasks that are not STOPPED: stop them first", ErrInUse)
	ErrClusterHasHosts = fmt.Errorf("%w: hosts belong to it: remove them, or start them with another --cluster", ErrInUse)
	ErrDefaultCluster  = fmt.Errorf("the cluster %s cannot be deleted: requests and hosts that name no cluster mean it", DefaultCluster)
)

// ClusterSet is the names of clusters with commas between, sorted; empty for all clusters, also those to come.
type ClusterSet string

// NewClusterSet is the set of these clusters: of all, when there are none.
func NewClusterSet(names []string) ClusterSet {
	sorted := slices.Compact(slices.Sorted(slices.Values(names)))
	return ClusterSet(strings.Join(sorted, ","))
}

// Names visits the clusters of a set that is not of all.
func (s ClusterSet) Names() iter.Seq[string] {
	if s == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(string(s), ",")
}

// IsSingle reports whether it is one cluster.
func (s ClusterSet) IsSingle() bool { return s != "" && !strings.Contains(string(s), ",") }

// Has reports whether a cluster is in the set.
func (s ClusterSet) Has(cluster string) bool {
	if s == "" {
		return true
	}
	for name := range s.Names() {
		if name == cluster {
			return true
		}
	}
	return false
}

// Contains reports whether what belongs to the owners belongs to clusters of this set alone, so that whoever is responsible for the set may
// change it. What belongs to the whole pool is owned by the set of all clusters only.
func (s ClusterSet) Contains(owners ClusterSet) bool {
	if s == "" {
		return true
	}
	for name := range owners.Names() {
		if !s.Has(name) {
			return false
		}
	}
	return owners != ""
}

// Intersects reports whether what belongs to the owners belongs to one cluster of this set at least.
func (s ClusterSet) Intersects(owners ClusterSet) bool {
	if s == "" {
		return true
	}
	for name := range owners.Names() {
		if s.Has(name) {
			return true
		}
	}
	return false
}

// String names the clusters for people.
func (s ClusterSet) String() string {
	switch {
	case s == "":
		return "all clusters"
	case s.IsSingle():
		return "the cluster " + string(s)
	}
	return "the clusters " + strings.ReplaceAll(string(s), ",", ", ")
}

// TagShare is the tag of a task definition that names clusters, with blanks between, whose keys may see and run it although its family
// belongs to others.
const TagShare = "pinion.share"

// SharedWith are the clusters whose keys may see and run the definition although its family belongs to others.
func (d *TaskDefinition) SharedWith() ClusterSet {
	for _, tag := range d.Tags {
		if tag.Key == TagShare {
			return NewClusterSet(strings.Fields(tag.Value))
		}
	}
	return ""
}

// ErrForeign refuses a change of what belongs to clusters that the caller's key is not for.
var ErrForeign = errors.New("belongs to clusters that this key is not for")

// MergeSettings is the known settings, each replaced by the given one of its name, and those given that are new.
func MergeSettings(known, given []Setting) []Setting {
	merged := slices.Clone(known)
	for _, setting := range given {
		at := slices.IndexFunc(merged, func(s Setting) bool { return s.Name == setting.Name })
		if at < 0 {
			merged = append(merged, setting)
			continue
		}
		merged[at] = setting
	}
	return merged
}

// SettingUserNamespaces is the setting of a cluster whose tasks run in user namespaces, where root is an unprivileged user of the host.
const SettingUserNamespaces = "userNamespaces"

// UserNamespaceSettings are the values of SettingUserNamespaces, the default first.
var UserNamespaceSettings = []string{"disabled", "enabled"}

// SettingAllowedImages is the setting of a cluster that says which images its tasks may have: an imagepolicy.Policy.
const SettingAllowedImages = "allowedImages"

// SettingTagsWithoutRegistry is the setting of a cluster whose hosts use, while the registry of a tag cannot be reached, what it meant last to another of them.
const SettingTagsWithoutRegistry = "tagsWithoutRegistry"

// TagsWithoutRegistrySettings are the values of SettingTagsWithoutRegistry, the default first.
var TagsWithoutRegistrySettings = []string{"disabled", "enabled"}

// TagsWithoutRegistry reports whether SettingTagsWithoutRegistry of the cluster is enabled.
func (c *Cluster) TagsWithoutRegistry() bool {
	return slices.Contains(c.Settings, Setting{Name: SettingTagsWithoutRegistry, Value: TagsWithoutRegistrySettings[1]})
}

// ClusterRules are the rules of a cluster for all of its tasks, whoever runs them.
type ClusterRules struct {
	UserNamespaces bool               `json:",omitempty"` // their containers run in user namespaces
	AllowedImages  imagepolicy.Policy `json:",omitempty"`
	GPUFaults      gpufault.Policy    `json:",omitempty"`
}

// Rules are those that the settings of the cluster say. A cluster that is not known has none.
func (c *Cluster) Rules() (r ClusterRules) {
	if c == nil {
		return r
	}
	for _, s := range c.Settings {
		switch s.Name {
		case SettingUserNamespaces:
			r.UserNamespaces = s.Value == UserNamespaceSettings[1]
		case SettingAllowedImages:
			r.AllowedImages = imagepolicy.Policy(s.Value)
		case gpufault.Setting:
			r.GPUFaults = gpufault.Policy(s.Value)
		}
	}
	return r
}

// BuiltinCapacityProvider is the queue that every cluster has. It is no record, and can be neither changed nor deleted.
const BuiltinCapacityProvider = "PINION"

// CapacityProviderStrategyItem is one line of a strategy. The first provider of a strategy that is not empty is the queue;
// base and weight are echoed, as every queue leads to the same hosts.
type CapacityProviderStrategyItem struct {
	CapacityProvider string `json:"capacityProvider"`
	Weight           int    `json:"weight,omitempty"` // 0 to 1000
	Base             int    `json:"base,omitempty"`   // 0 to 100000
}
