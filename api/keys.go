package api

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// keyView is an access key as operators see it: never its secret, nor what that is sealed in.
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

// newKeyView is the only answer that shows a secret. Its names are those of the environment variables.
type newKeyView struct {
	KeyID   string    `json:"accessKeyId"`
	Secret  string    `json:"secretAccessKey"`
	Role    spec.Role `json:"role"`
	Cluster string    `json:"cluster,omitempty"`
}

func (d *door) listKeys(w http.ResponseWriter, r *http.Request, who caller, _ []byte) error {
	views := []keyView{}
	for _, key := range who.view.AccessKeys() {
		views = append(views, keyView{ID: key.ID, Role: key.Role, Cluster: key.Cluster, Hosts: key.Hosts, CreatedAt: key.CreatedAt})
	}
	slices.SortFunc(views, func(a, b keyView) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID)) })
	d.reply(w, r, typeJSON, http.StatusOK, views)
	return nil
}

func (d *door) createKey(w http.ResponseWriter, r *http.Request, who caller, body []byte) error {
	var in keyInput
	if err := wire.DecodeJSON(body, &in, wire.Strict); err != nil {
		return err
	}
	role := spec.Role(in.Role)
	if !slices.Contains(spec.Roles, role) {
		return wire.Errorf(wire.InvalidParameter, "role must be one of read, submit and admin, not %q.", in.Role)
	}
	if in.Cluster != "" && who.view.Cluster(in.Cluster) == nil {
		return wire.Errorf(notFound, "There is no cluster %q for a key to be for.", in.Cluster)
	}
	if d.Admin.Keys == nil {
		return errNotConfigured("making access keys")
	}
	key, err := d.Admin.Keys.CreateKey(r.Context(), role, in.Cluster)
	if err != nil {
		return err
	}
	d.reply(w, r, typeJSON, http.StatusOK, newKeyView{KeyID: key.ID, Secret: key.Secret, Role: key.Role, Cluster: key.Cluster})
	return nil
}

func (d *door) removeKey(w http.ResponseWriter, r *http.Request, who caller, body []byte) error {
	var in idInput
	if err := wire.DecodeJSON(body, &in, wire.Strict); err != nil {
		return err
	}
	if d.Admin.Keys == nil {
		return errNotConfigured("removing access keys")
	}
	if who.view.AccessKey(in.ID) == nil {
		return wire.Errorf(notFound, "There is no access key %q.", in.ID)
	}
	if err := d.Admin.Keys.RemoveKey(r.Context(), in.ID); err != nil {
		return err
	}
	d.done(w, r)
	return nil
}
