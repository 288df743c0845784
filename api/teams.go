package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"pinion/api/ecs"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// teamView is a team with its quota, its weight and the GPUs that its tasks hold.
type teamView struct {
	Name   string `json:"name"`           // "" is the team of tasks that name none
	GPUs   *int   `json:"gpus,omitempty"` // its quota; absent: none
	Weight int    `json:"weight"`         // its part of what teams share
	InUse  int    `json:"gpusInUse"`
}

// listTeams shows the teams that are on record, and those whose tasks hold GPUs.
func (d *door) listTeams(w http.ResponseWriter, r *http.Request, who caller, _ []byte) error {
	if err := who.mayAll(); err != nil {
		return err
	}
	held := gpusByTeam(who.view)
	for _, team := range who.view.Teams() {
		held[team.Name] += 0
	}
	views := []teamView{}
	for name, inUse := range held {
		team := who.view.Team(name)
		views = append(views, teamView{Name: name, GPUs: team.GPUs, Weight: team.Weight, InUse: inUse})
	}
	slices.SortFunc(views, func(a, b teamView) int { return cmp.Compare(a.Name, b.Name) })
	d.reply(w, r, typeJSON, http.StatusOK, views)
	return nil
}

// gpusByTeam counts the GPUs that the tasks of each team hold.
func gpusByTeam(view *raftfsm.View) map[string]int {
	held := map[string]int{}
	for _, host := range view.Hosts("") {
		for _, task := range view.TasksOn(host.ID) {
			if task.LastStatus == spec.Stopped {
				continue
			}
			n := 0
			for _, container := range task.Containers {
				n += len(container.GPUs)
			}
			if n > 0 {
				held[task.SchedulingOptions().Team] += n
			}
		}
	}
	return held
}

// teamInput changes what is given of a team and leaves the rest.
type teamInput struct {
	Name   *string `json:"name"`
	GPUs   *int    `json:"gpus"`
	Weight *int    `json:"weight"`
}

func (d *door) putTeam(w http.ResponseWriter, r *http.Request, who caller, body []byte) error {
	var in teamInput
	if err := wire.DecodeJSON(body, &in, wire.Strict); err != nil {
		return err
	}
	if in.Name == nil {
		return wire.Errorf(wire.InvalidParameter, `name must be given; "" is the team of tasks that name none.`)
	}
	if err := ecs.CheckTeam(*in.Name); err != nil {
		return err
	}
	if in.GPUs == nil && in.Weight == nil {
		return wire.Errorf(wire.InvalidParameter, "Give gpus, weight or both of team %q.", *in.Name)
	}
	if in.GPUs != nil && *in.GPUs < 0 {
		return wire.Errorf(wire.InvalidParameter, "gpus must be a number of GPUs from 0, not %d.", *in.GPUs)
	}
	if in.Weight != nil && (*in.Weight < 1 || *in.Weight > spec.MaxWeight) {
		return wire.Errorf(wire.InvalidParameter, "weight must be between 1 and %d, not %d.", spec.MaxWeight, *in.Weight)
	}
	team := *who.view.Team(*in.Name)
	team.GPUs, team.Weight = cmp.Or(in.GPUs, team.GPUs), *cmp.Or(in.Weight, &team.Weight)
	if _, err := d.Store.Propose(r.Context(), raftfsm.PutTeam{Team: team}); err != nil {
		return err
	}
	d.reply(w, r, typeJSON, http.StatusOK, teamView{Name: team.Name, GPUs: team.GPUs, Weight: team.Weight, InUse: gpusByTeam(who.view)[team.Name]})
	return nil
}

func (d *door) removeTeam(w http.ResponseWriter, r *http.Request, _ caller, body []byte) error {
	var in teamInput
	if err := wire.DecodeJSON(body, &in, wire.Strict); err != nil {
		return err
	}
	if in.Name == nil || in.GPUs != nil || in.Weight != nil {
		return wire.Errorf(wire.InvalidParameter, "Give the name of the team whose quota and weight are to be forgotten, and nothing else.")
	}
	_, err := d.Store.Propose(r.Context(), raftfsm.DeleteTeam{Name: *in.Name})
	if errors.Is(err, spec.ErrNotFound) {
		return wire.Errorf(notFound, "There is no quota or weight of a team %q.", *in.Name)
	}
	if err != nil {
		return err
	}
	d.done(w, r)
	return nil
}
