package raftfsm

import (
	"testing"

	"pinion/raftfsm/spec"
)

func TestAccountSettingsAreChosenForOneOrForAll(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutAccountSetting{spec.AccountSetting{Name: "containerInsights", Value: "enabled"}})
	h.do(t, PutAccountSetting{spec.AccountSetting{Name: "containerInsights", Value: "disabled", Principal: "me"}})
	h.do(t, PutAccountSetting{spec.AccountSetting{Name: "awsvpcTrunking", Value: "enabled", Principal: "me"}})
	if all := h.View().AccountSettings(""); len(all) != 1 || all[0].Value != "enabled" {
		t.Errorf("for all: %+v", all)
	}
	if mine := h.View().AccountSettings("me"); len(mine) != 2 {
		t.Errorf("for one: %+v", mine)
	}
	h.do(t, PutAccountSetting{spec.AccountSetting{Name: "containerInsights", Value: "enhanced", Principal: "me"}})
	if got := h.View().AccountSetting("me", "containerInsights"); got.Value != "enhanced" {
		t.Errorf("%+v", got)
	}
	h.do(t, DeleteAccountSetting{Principal: "me", Name: "containerInsights"})
	h.do(t, DeleteAccountSetting{Principal: "me", Name: "none"})
	if h.View().AccountSetting("me", "containerInsights") != nil || h.View().AccountSetting("", "containerInsights") == nil {
		t.Error("the wrong one was deleted")
	}
}
