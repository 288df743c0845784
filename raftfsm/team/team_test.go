package team_test

import (
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/team"
)

func TestATeamHasDefaultsUntilItIsRecorded(t *testing.T) {
	s, quota := raftfsmtest.New(t), 2
	raftfsmtest.Change(s, team.Put{Team: team.Team{Name: "vision", GPUs: &quota, Weight: 3}})
	if got := team.Find(s.View(), "vision"); *got.GPUs != 2 || got.Weight != 3 || len(team.All(s.View())) != 1 {
		t.Errorf("%+v", got)
	}
	raftfsmtest.Change(s, team.Delete{Name: "vision"})
	if got := team.Find(s.View(), "vision"); got.GPUs != nil || got.Weight != 1 || len(team.All(s.View())) != 0 {
		t.Errorf("%+v", got)
	}
	raftfsmtest.Refuse(s, team.Delete{Name: "vision"}, spec.ErrNotFound)
}

func TestAWeightAndAQuotaAreInRange(t *testing.T) {
	s, negative := raftfsmtest.New(t), -1
	for name, put := range map[string]team.Team{
		"no weight": {Name: "a"}, "too much weight": {Name: "a", Weight: team.MaxWeight + 1}, "a negative quota": {Name: "a", Weight: 1, GPUs: &negative},
	} {
		if _, err := s.Try(raftfsm.Wrap(team.Put{Team: put})); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
