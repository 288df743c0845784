package raftfsm

import (
	"testing"

	"pinion/raftfsm/accountsetting"
)

func TestAccountSettingsAreChosenForOneOrForAll(t *testing.T) {
	h := newHistory(t)
	h.do(t, Wrap(accountsetting.Put{Setting: accountsetting.Setting{Name: "containerInsights", Value: "enabled"}}))
	h.do(t, Wrap(accountsetting.Put{Setting: accountsetting.Setting{Name: "containerInsights", Value: "disabled", Principal: "me"}}))
	h.do(t, Wrap(accountsetting.Put{Setting: accountsetting.Setting{Name: "awsvpcTrunking", Value: "enabled", Principal: "me"}}))
	if all := accountsetting.Of(h.View(), ""); len(all) != 1 || all[0].Value != "enabled" {
		t.Errorf("for all: %+v", all)
	}
	if mine := accountsetting.Of(h.View(), "me"); len(mine) != 2 {
		t.Errorf("for one: %+v", mine)
	}
	h.do(t, Wrap(accountsetting.Put{Setting: accountsetting.Setting{Name: "containerInsights", Value: "enhanced", Principal: "me"}}))
	if got := accountsetting.Find(h.View(), "me", "containerInsights"); got.Value != "enhanced" {
		t.Errorf("%+v", got)
	}
	h.do(t, Wrap(accountsetting.Delete{Principal: "me", Name: "containerInsights"}))
	h.do(t, Wrap(accountsetting.Delete{Principal: "me", Name: "none"}))
	if accountsetting.Find(h.View(), "me", "containerInsights") != nil || accountsetting.Find(h.View(), "", "containerInsights") == nil {
		t.Error("the wrong one was deleted")
	}
}
