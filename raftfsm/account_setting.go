package raftfsm

import "pinion/raftfsm/spec"

var (
	tableAccountSettings = register(noun[spec.AccountSetting]{
		table: "accountSettings", indexes: []*index[spec.AccountSetting]{settingsByPrincipal},
		commands:  []kind{kindOf[PutAccountSetting](33, 1), kindOf[DeleteAccountSetting](34, 1)},
		noChanges: "ECS has no event of it", noExpiry: "DeleteAccountSetting deletes it",
	})
	settingsByPrincipal = indexBy(func(s *spec.AccountSetting) string { return s.Principal }).then(func(s *spec.AccountSetting) string { return s.Name })
)

// AccountSetting is what was chosen for the principal, for everybody when it is empty. Nil when nothing was.
func (v *View) AccountSetting(principal, name string) *spec.AccountSetting {
	return settingsByPrincipal.get(v, indexKey{first: principal, second: name})
}

// AccountSettings lists what was chosen for the principal, for everybody when it is empty.
func (v *View) AccountSettings(principal string) []*spec.AccountSetting {
	return settingsByPrincipal.list(v, principal)
}

// PutAccountSetting records a choice in place of the one before. Answer: *AccountSetting.
type PutAccountSetting struct{ Setting spec.AccountSetting }

func (c PutAccountSetting) apply(tx *tx) (any, error) {
	known := tx.AccountSetting(c.Setting.Principal, c.Setting.Name)
	if known != nil && *known == c.Setting {
		return known, nil
	}
	tx.put(tableAccountSettings, &c.Setting)
	return &c.Setting, nil
}

// DeleteAccountSetting takes a choice back; one that was never made is no error. Answer: nil.
type DeleteAccountSetting struct{ Principal, Name string }

func (c DeleteAccountSetting) apply(tx *tx) (any, error) {
	if known := tx.AccountSetting(c.Principal, c.Name); known != nil {
		tx.remove(tableAccountSettings, known)
	}
	return nil, nil
}
