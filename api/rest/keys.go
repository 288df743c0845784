package rest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// keyView is an access key without its secret.
type keyView struct {
	ID        string    `json:"id"`
	Role      spec.Role `json:"role"`
	Cluster   string    `json:"cluster,omitempty"` // the only one that it is for
	Hosts     bool      `json:"hosts,omitempty"`   // the pool's own, which `pinion env` prints on its hosts
	CreatedAt time.Time `json:"createdAt"`
}

type keyInput struct {
	Role    string `json:"role"`
	Cluster string `json:"cluster"`
}

// newKeyView is the only response with a secret. Its names are those of the environment variables.
type newKeyView struct {
	KeyID   string    `json:"accessKeyId"`
	Secret  string    `json:"secretAccessKey"`
	Role    spec.Role `json:"role"`
	Cluster string    `json:"cluster,omitempty"`
}

// idInput names what a request is about.
type idInput struct {
	ID string `json:"id"`
}

func (a *API) listKeys(x *httpx.Exchange, res leader.Resolution) error {
	views := []keyView{}
	for _, key := range res.View.AccessKeys() {
		views = append(views, keyView{ID: key.ID, Role: key.Role, Cluster: key.Cluster, Hosts: key.Hosts, CreatedAt: key.CreatedAt})
	}
	slices.SortFunc(views, func(a, b keyView) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID)) })
	return reply(x, views)
}

func (a *API) createKey(x *httpx.Exchange, res leader.Resolution) error {
	var in keyInput
	if err := decode(x, &in); err != nil {
		return err
	}
	role := spec.Role(in.Role)
	if !slices.Contains(spec.Roles, role) {
		return wire.Errorf(wire.InvalidParameter, "role must be one of read, submit and admin, not %q.", in.Role)
	}
	if in.Cluster != "" && res.View.Cluster(in.Cluster) == nil {
		return wire.Errorf(httpx.NotFound, "There is no cluster %q for a key to be for.", in.Cluster)
	}
	if a.Admin.Keys == nil {
		return errNotConfigured("making access keys")
	}
	key, err := a.Admin.Keys.CreateKey(x.Context(), role, in.Cluster)
	if err != nil {
		return err
	}
	return reply(x, newKeyView{KeyID: key.ID, Secret: key.Secret, Role: key.Role, Cluster: key.Cluster})
}

func (a *API) removeKey(x *httpx.Exchange, res leader.Resolution) error {
	var in idInput
	if err := decode(x, &in); err != nil {
		return err
	}
	if a.Admin.Keys == nil {
		return errNotConfigured("removing access keys")
	}
	if res.View.AccessKey(in.ID) == nil {
		return wire.Errorf(httpx.NotFound, "There is no access key %q.", in.ID)
	}
	if err := a.Admin.Keys.RemoveKey(x.Context(), in.ID); err != nil {
		return err
	}
	return ok(x)
}
