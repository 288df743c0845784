package rest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/spec"
)

// keyView is an access key without its secret.
type keyView struct {
	ID        string         `json:"id"`
	Name      string         `json:"name,omitempty"`
	Role      accesskey.Role `json:"role"`
	Cluster   string         `json:"cluster,omitempty"` // the only ones that it is for, with commas between
	HostID    string         `json:"hostId,omitempty"`  // of the host whose own key it is: `pinion env` prints it there
	CreatedAt time.Time      `json:"createdAt"`
	Login     *keyLogin      `json:"login,omitempty"`
	keyLimits
	InUse *keyUse `json:"inUse,omitempty"` // nothing when it is left out
}

// keyLimits are what a key may do within its role and its clusters. What is left out is not limited.
type keyLimits struct {
	Teams             []string `json:"teams,omitempty"`
	MaxPriority       *int     `json:"maxPriority,omitempty"`
	MaxTasks          int      `json:"maxTasks,omitempty"`
	MaxWaiting        int      `json:"maxWaiting,omitempty"`
	MaxGPUs           *int     `json:"maxGpus,omitempty"`
	MaxRevisions      int      `json:"maxRevisions,omitempty"`
	RequestsPerSecond int      `json:"requestsPerSecond,omitempty"`
}

// keyLogin says whose key it is that `pinion login` made, and when it ends.
type keyLogin struct {
	Person  string    `json:"person"`
	Subject string    `json:"subject"`
	Issuer  string    `json:"issuer"`
	Groups  []string  `json:"groups"` // that gave the key its rights
	Expires time.Time `json:"expiresAt"`
}

// keyUse is what a key has of what its limits count.
type keyUse struct {
	Tasks     int `json:"tasks"`
	Waiting   int `json:"waiting"`
	GPUs      int `json:"gpus"`
	Revisions int `json:"revisions"`
}

type keyInput struct {
	Name    string `json:"name"` // what the key is for; keys may have the same
	Role    string `json:"role"`
	Cluster string `json:"cluster"` // or several, with commas between
	keyLimits
}

// newKeyView is the only response with a secret. Its names are those of the environment variables.
type newKeyView struct {
	KeyID   string         `json:"accessKeyId"`
	Secret  string         `json:"secretAccessKey"`
	Name    string         `json:"name,omitempty"`
	Role    accesskey.Role `json:"role"`
	Cluster string         `json:"cluster,omitempty"`
	keyLimits
}

// idInput names what a request is about.
type idInput struct {
	ID string `json:"id"`
}

func (a *API) listKeys(x *httpx.Exchange, res leader.Resolution) error {
	views := []keyView{}
	for _, key := range credential.All(res.View) {
		view := keyView{ID: key.ID, Name: key.Name, Role: key.Role, Cluster: key.Cluster, HostID: key.HostID, CreatedAt: key.CreatedAt, Login: (*keyLogin)(key.Login), keyLimits: keyLimits(key.Grant)}
		view.InUse = useOf(res.View, key.Owner())
		views = append(views, view)
	}
	slices.SortFunc(views, func(a, b keyView) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID)) })
	return reply(x, views)
}

// useOf is what the owner of a key has of what its limits count; nil: nothing.
func useOf(v *raftfsm.View, owner string) *keyUse {
	if has := v.KeyTally(owner); has != (spec.Tally{}) {
		return &keyUse{has.Tasks, has.Waiting, spec.WholeGPUs(has.GPUMilli), has.Revisions}
	}
	return nil
}

func (a *API) createKey(x *httpx.Exchange, res leader.Resolution) error {
	var in keyInput
	if err := decode(x, &in); err != nil {
		return err
	}
	rights, err := rightsOf(a.CheckTeam, in, res)
	if err != nil {
		return err
	}
	if in.Name != "" && issuer.CheckPerson(in.Name) != nil {
		return wire.Errorf(wire.InvalidParameter, "name must have at most 128 letters, digits and characters of _+=,.@:|-, as ci or night-jobs, not %.200q.", in.Name)
	}
	if a.Admin.Keys == nil {
		return NotConfigured("making access keys")
	}
	key, err := a.Admin.Keys.CreateKey(x.Context(), accesskey.Key{Name: in.Name, Role: rights.Role, Cluster: rights.Cluster, Grant: rights.Grant})
	if err != nil {
		return err
	}
	return reply(x, newKeyView{KeyID: key.ID, Secret: key.Secret, Name: key.Name, Role: key.Role, Cluster: key.Cluster, keyLimits: keyLimits(key.Grant)})
}

// rightsOf checks what a key is to be for.
func rightsOf(checkTeam func(name string) error, in keyInput, res leader.Resolution) (accesskey.Rights, error) {
	role := accesskey.Role(in.Role)
	if !slices.Contains(accesskey.Roles, role) {
		return accesskey.Rights{}, wire.Errorf(wire.InvalidParameter, "role must be one of read, submit and admin, not %q.", in.Role)
	}
	clusters, err := parseClusters(in.Cluster, res)
	if err != nil {
		return accesskey.Rights{}, err
	}
	return accesskey.Rights{Role: role, Cluster: string(clusters), Grant: accesskey.Grant(in.keyLimits)}, checkKeyLimits(checkTeam, in.keyLimits)
}

// parseClusters reads the clusters that a key is to be for: names with commas between.
func parseClusters(text string, res leader.Resolution) (spec.ClusterSet, error) {
	if text == "" {
		return "", nil
	}
	names := strings.Split(text, ",")
	for _, name := range names {
		if res.View.Cluster(name) == nil {
			return "", wire.Errorf(httpx.NotFound, "There is no cluster %q for a key to be for.", name)
		}
	}
	return spec.NewClusterSet(names), nil
}

func checkKeyLimits(checkTeam func(name string) error, in keyLimits) error {
	for _, team := range in.Teams {
		if team == "" {
			return wire.Errorf(wire.InvalidParameter, "teams must not have an empty name.")
		}
		if err := checkTeam(team); err != nil {
			return err
		}
	}
	if in.MaxPriority != nil && (*in.MaxPriority < 0 || *in.MaxPriority > spec.MaxPriority) {
		return wire.Errorf(wire.InvalidParameter, "maxPriority must be between 0 and %d, not %d.", spec.MaxPriority, *in.MaxPriority)
	}
	if in.MaxGPUs != nil && *in.MaxGPUs < 0 {
		return wire.Errorf(wire.InvalidParameter, "maxGpus must be a number of GPUs from 0, not %d.", *in.MaxGPUs)
	}
	if min(in.MaxTasks, in.MaxWaiting, in.MaxRevisions, in.RequestsPerSecond) < 0 {
		return wire.Errorf(wire.InvalidParameter, "maxTasks, maxWaiting, maxRevisions and requestsPerSecond must be 1 or more; without one there is no such limit.")
	}
	return nil
}

func (a *API) removeKey(x *httpx.Exchange, res leader.Resolution) error {
	var in idInput
	if err := decode(x, &in); err != nil {
		return err
	}
	if a.Admin.Keys == nil {
		return NotConfigured("removing access keys")
	}
	known := res.View.AccessKey(in.ID)
	if known == nil {
		return wire.Errorf(httpx.NotFound, "There is no access key %q.", in.ID)
	}
	if of := known.Assumed; of != nil {
		return wire.Errorf(wire.InvalidParameter, "The access key %s is of task %s, by the role %s: it ends with the task (pinion stop), or with the role (pinion role rm).", in.ID, of.Task, of.Role)
	}
	if err := a.Admin.Keys.RemoveKey(x.Context(), in.ID); err != nil {
		return err
	}
	return ok(x)
}
