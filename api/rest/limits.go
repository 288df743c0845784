package rest

import (
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// limitView is one limit of the pool, and what there is of it.
type limitView struct {
	Limit int  `json:"limit"`
	Used  *int `json:"used,omitempty"` // left out where each object has the limit to itself
}

// limitsView are the limits of the whole pool, whoever made what they count.
type limitsView struct {
	Tasks             limitView `json:"tasks"`
	Waiting           limitView `json:"waiting"`
	Revisions         limitView `json:"revisions"`
	RevisionsOfFamily limitView `json:"revisionsOfFamily"`
}

// limitsInput changes the limits that it names and leaves the rest.
type limitsInput struct {
	Tasks             *int `json:"tasks"`
	Waiting           *int `json:"waiting"`
	Revisions         *int `json:"revisions"`
	RevisionsOfFamily *int `json:"revisionsOfFamily"`
}

func newLimitsView(limits spec.PoolLimits, has spec.Tally) limitsView {
	return limitsView{
		Tasks: limitView{limits.Tasks, &has.Tasks}, Waiting: limitView{limits.Waiting, &has.Waiting},
		Revisions: limitView{limits.Revisions, &has.Revisions}, RevisionsOfFamily: limitView{Limit: limits.RevisionsOfFamily},
	}
}

func (a *API) showLimits(x *httpx.Exchange, res leader.Resolution) error {
	return reply(x, newLimitsView(res.View.Settings().Limits, res.View.PoolTally()))
}

func (a *API) putLimits(x *httpx.Exchange, res leader.Resolution) error {
	var in limitsInput
	if err := decode(x, &in); err != nil {
		return err
	}
	var wanted spec.PoolLimits
	for _, limit := range []struct {
		name  string
		given *int
		into  *int
	}{
		{"tasks", in.Tasks, &wanted.Tasks}, {"waiting", in.Waiting, &wanted.Waiting},
		{"revisions", in.Revisions, &wanted.Revisions}, {"revisionsOfFamily", in.RevisionsOfFamily, &wanted.RevisionsOfFamily},
	} {
		if limit.given == nil {
			continue
		}
		if *limit.into = *limit.given; *limit.into < 1 {
			return wire.Errorf(wire.InvalidParameter, "%s must be 1 or more, not %d.", limit.name, *limit.given)
		}
	}
	if wanted == (spec.PoolLimits{}) {
		return wire.Errorf(wire.InvalidParameter, "Give one of tasks, waiting, revisions and revisionsOfFamily.")
	}
	if _, err := a.Store.Propose(x.Context(), raftfsm.PutSettings{Settings: spec.Settings{Limits: wanted}}); err != nil {
		return err
	}
	return reply(x, newLimitsView(wanted.Or(res.View.Settings().Limits), res.View.PoolTally()))
}
