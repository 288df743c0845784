package accountsetting_test

import (
	"testing"

	"pinion/raftfsm/accountsetting"
	"pinion/raftfsm/raftfsmtest"
)

func TestAccountSettingsAreChosenForOneOrForAll(t *testing.T) {
	s := raftfsmtest.New(t)
	raftfsmtest.Change(s, accountsetting.Put{Setting: accountsetting.Setting{Name: "containerInsights", Value: "enabled"}})
	raftfsmtest.Change(s, accountsetting.Put{Setting: accountsetting.Setting{Name: "containerInsights", Value: "disabled", Principal: "me"}})
	raftfsmtest.Change(s, accountsetting.Put{Setting: accountsetting.Setting{Name: "awsvpcTrunking", Value: "enabled", Principal: "me"}})
	if all := accountsetting.ListOf(s.View(), ""); len(all) != 1 || all[0].Value != "enabled" {
		t.Errorf("for all: %+v", all)
	}
	if mine := accountsetting.ListOf(s.View(), "me"); len(mine) != 2 {
		t.Errorf("for one: %+v", mine)
	}
	raftfsmtest.Change(s, accountsetting.Put{Setting: accountsetting.Setting{Name: "containerInsights", Value: "enhanced", Principal: "me"}})
	if got := accountsetting.Find(s.View(), "me", "containerInsights"); got.Value != "enhanced" {
		t.Errorf("%+v", got)
	}
	raftfsmtest.Change(s, accountsetting.Delete{Principal: "me", Name: "containerInsights"})
	raftfsmtest.Change(s, accountsetting.Delete{Principal: "me", Name: "none"})
	if accountsetting.Find(s.View(), "me", "containerInsights") != nil || accountsetting.Find(s.View(), "", "containerInsights") == nil {
		t.Error("the wrong one was deleted")
	}
}
