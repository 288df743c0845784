package api

import (
	"cmp"
	"errors"
	"net/http"
	"reflect"
	"slices"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/rest"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// volumeView is a shared volume of a host.
type volumeView struct {
	Name     string `json:"name"`
	HostID   string `json:"hostId"`
	HostName string `json:"hostName"`
}

// volumeRoutes are about the shared volumes of hosts. They are removed by administrators of the whole pool; the host itself decides whether a task has one.
func volumeRoutes(a *rest.API) []rest.Route {
	remove := func(x *httpx.Exchange, _ string) error {
		if a.Agent.Volumes == nil {
			return wire.Errorf(wire.Client, "pinion: this host has no shared volumes.")
		}
		err := a.Agent.Volumes.RemoveVolume(x.Request.URL.Query().Get("name"))
		switch {
		case errors.Is(err, spec.ErrNotFound):
			return wire.Errorf(httpx.NotFound, "%v.", err)
		case errors.Is(err, spec.ErrUnavailable):
			return err
		case err != nil:
			return wire.Errorf(wire.InvalidParameter, "%v.", err)
		}
		x.Reply(http.StatusOK, struct{}{})
		return nil
	}
	return []rest.Route{
		{Method: http.MethodGet, Path: "/v1/volumes", Role: accesskey.RoleRead, Scope: auth.PerResource, Summary: "the shared volumes that hosts have told of, 256 of a host at most",
			Out: reflect.TypeFor[[]volumeView](), List: true, Serve: listVolumes},
		{Method: http.MethodPost, Path: "/v1/admin/hosts/{id}/volumes/remove", Role: accesskey.RoleAdmin, Scope: auth.PoolWide, Summary: "removes a shared volume of a host, with all that is in it, unless a task has it",
			Query: []rest.Parameter{{Name: "name", Summary: "of the volume"}}, Out: reflect.TypeFor[struct{}](), Serve: rest.OnHost(a.Peers, "Try again when it is back.", remove), Host: remove},
	}
}

// listVolumes lists those of the hosts of the caller's clusters.
func listVolumes(x *httpx.Exchange, res leader.Resolution) error {
	views := []volumeView{}
	for _, host := range res.View.Hosts("") {
		if !res.Principal.Clusters.Covers(host.Cluster) {
			continue
		}
		for _, name := range host.SharedVolumes {
			views = append(views, volumeView{Name: name, HostID: host.ID, HostName: host.Name})
		}
	}
	slices.SortFunc(views, func(a, b volumeView) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.HostName, b.HostName), cmp.Compare(a.HostID, b.HostID))
	})
	x.Reply(http.StatusOK, views)
	return nil
}
