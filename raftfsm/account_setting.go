package raftfsm

import (
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableAccountSettings = register(noun[spec.AccountSetting]{
		table: "accountSettings", indexes: []*table.Index[spec.AccountSetting]{settingsByPrincipal},
		commands:  []kind{kindOf[PutAccountSetting](33, 1), kindOf[DeleteAccountSetting](34, 1)},
		noChanges: "ECS has no event of it", noExpiry: "DeleteAccountSetting deletes it",
	})
	settingsByPrincipal = table.By(func(s *spec.AccountSetting) string { return s.Principal }).Then(func(s *spec.AccountSetting) string { return s.Name })
)

// AccountSetting returns a setting of the principal; the empty principal stands for everybody. Nil when it was not set.
func (v *View) AccountSetting(principal, name string) *spec.AccountSetting {
	return settingsByPrincipal.Get(v, sortkey.Key{First: principal, Second: name})
}

// AccountSettings lists the settings of the principal; the empty principal stands for everybody.
func (v *View) AccountSettings(principal string) []*spec.AccountSetting {
	return settingsByPrincipal.List(v, principal)
}

// PutAccountSetting records a setting and replaces the earlier value. Answer: *AccountSetting.
type PutAccountSetting struct{ Setting spec.AccountSetting }

func (c PutAccountSetting) apply(tx *tx) (any, error) {
	known := tx.AccountSetting(c.Setting.Principal, c.Setting.Name)
	if known != nil && *known == c.Setting {
		return known, nil
	}
	tx.put(tableAccountSettings, &c.Setting)
	return &c.Setting, nil
}

// DeleteAccountSetting deletes a setting; a missing one is no error. Answer: nil.
type DeleteAccountSetting struct{ Principal, Name string }

func (c DeleteAccountSetting) apply(tx *tx) (any, error) {
	if known := tx.AccountSetting(c.Principal, c.Name); known != nil {
		tx.remove(tableAccountSettings, known)
	}
	return nil, nil
}
