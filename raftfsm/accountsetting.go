package raftfsm

// AccountSetting is one of ECS's account settings, as somebody chose it. Those that nobody chose have defaults, which are
// not stored.
type AccountSetting struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Principal string `json:"principal,omitempty"` // ARN of whom it is for; empty: everybody who chose nothing
}

// AccountSetting is what was chosen for the principal, for everybody when it is empty. Nil when nothing was.
func (v *View) AccountSetting(principal, name string) *AccountSetting {
	return settingsByPrincipal.get(v, key{first: principal, second: name})
}

// AccountSettings lists what was chosen for the principal, for everybody when it is empty.
func (v *View) AccountSettings(principal string) []*AccountSetting {
	return settingsByPrincipal.list(v, principal)
}

// PutAccountSetting records a choice in place of the one before. Answer: *AccountSetting.
type PutAccountSetting struct{ Setting AccountSetting }

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
