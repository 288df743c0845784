package rest

import (
	"cmp"
	"errors"
	"slices"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/team"
)

// teamView is a team with its quota, its weight and the GPUs that its tasks hold.
type teamView struct {
	Name   string `json:"name"`           // "" is the team of tasks that name none
	GPUs   *int   `json:"gpus,omitempty"` // its quota; absent: none
	Weight int    `json:"weight"`         // its share of what teams compete for
	InUse  int    `json:"gpusInUse"`
}

// listTeams lists the teams that are on record, and those whose tasks hold GPUs.
func (a *API) listTeams(x *httpx.Exchange, res leader.Resolution) error {
	if err := res.Principal.RequireUnscoped("GET /v1/teams"); err != nil {
		return err
	}
	held := gpusByTeam(res.View)
	for _, recorded := range team.All(res.View) {
		held[recorded.Name] += 0
	}
	views := []teamView{}
	for name, inUse := range held {
		of := team.Find(res.View, name)
		views = append(views, teamView{Name: name, GPUs: of.GPUs, Weight: of.Weight, InUse: inUse})
	}
	slices.SortFunc(views, func(a, b teamView) int { return cmp.Compare(a.Name, b.Name) })
	return reply(x, views)
}

// gpusByTeam counts the GPUs that the tasks of each team hold, rounded up where they share some.
func gpusByTeam(view *raftfsm.View) map[string]int {
	held := map[string]int{}
	for _, host := range view.Hosts("") {
		for _, task := range view.TasksOn(host.ID) {
			if task.LastStatus == spec.Stopped {
				continue
			}
			if milli := task.GPUMilli(); milli > 0 {
				held[task.SchedulingOptions().Team] += milli
			}
		}
	}
	for team, milli := range held {
		held[team] = spec.WholeGPUs(milli)
	}
	return held
}

// teamInput changes the given members of a team and leaves the rest.
type teamInput struct {
	Name   *string `json:"name"`
	GPUs   *int    `json:"gpus"`
	Weight *int    `json:"weight"`
}

func (a *API) putTeam(x *httpx.Exchange, res leader.Resolution) error {
	var in teamInput
	if err := decode(x, &in); err != nil {
		return err
	}
	if in.Name == nil {
		return wire.Errorf(wire.InvalidParameter, `name must be given; "" is the team of tasks that name none.`)
	}
	if err := a.CheckTeam(*in.Name); err != nil {
		return err
	}
	if in.GPUs == nil && in.Weight == nil {
		return wire.Errorf(wire.InvalidParameter, "Give gpus, weight or both of team %q.", *in.Name)
	}
	if in.GPUs != nil && *in.GPUs < 0 {
		return wire.Errorf(wire.InvalidParameter, "gpus must be a number of GPUs from 0, not %d.", *in.GPUs)
	}
	if in.Weight != nil && (*in.Weight < 1 || *in.Weight > team.MaxWeight) {
		return wire.Errorf(wire.InvalidParameter, "weight must be between 1 and %d, not %d.", team.MaxWeight, *in.Weight)
	}
	put := *team.Find(res.View, *in.Name)
	put.GPUs, put.Weight = cmp.Or(in.GPUs, put.GPUs), *cmp.Or(in.Weight, &put.Weight)
	if _, err := a.Store.Propose(x.Context(), raftfsm.Wrap(team.Put{Team: put})); err != nil {
		return err
	}
	return reply(x, teamView{Name: put.Name, GPUs: put.GPUs, Weight: put.Weight, InUse: gpusByTeam(res.View)[put.Name]})
}

func (a *API) removeTeam(x *httpx.Exchange, _ leader.Resolution) error {
	var in teamInput
	if err := decode(x, &in); err != nil {
		return err
	}
	if in.Name == nil || in.GPUs != nil || in.Weight != nil {
		return wire.Errorf(wire.InvalidParameter, "Give the name of the team whose quota and weight are to be forgotten, and nothing else.")
	}
	_, err := a.Store.Propose(x.Context(), raftfsm.Wrap(team.Delete{Name: *in.Name}))
	if errors.Is(err, spec.ErrNotFound) {
		return wire.Errorf(httpx.NotFound, "There is no quota or weight of a team %q.", *in.Name)
	}
	if err != nil {
		return err
	}
	return ok(x)
}
