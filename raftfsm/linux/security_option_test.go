package linux

import "testing"

func TestSecurityOptionsOnlyTighten(t *testing.T) {
	for option, want := range map[string]bool{
		"no-new-privileges": true, "no-new-privileges:true": true, "apparmor:my-profile": true,
		"no-new-privileges:false": false, "apparmor:unconfined": false, "apparmor:": false, "apparmor:a//&b": false, "apparmor:a b": false,
		"seccomp:unconfined": false, "label:disable": false, "": false,
	} {
		if ValidSecurityOption(option) != want {
			t.Errorf("%q", option)
		}
	}
	for _, c := range []struct {
		options []string
		nnp     bool
		profile string
	}{
		{nil, false, ""},
		{[]string{"apparmor:p"}, false, "p"},
		{[]string{"apparmor:p", "no-new-privileges"}, true, "p"},
		{[]string{"what no API takes"}, true, ""},
	} {
		if NoNewPrivileges(c.options) != c.nnp || AppArmorProfile(c.options) != c.profile {
			t.Errorf("%q: %t, %q", c.options, NoNewPrivileges(c.options), AppArmorProfile(c.options))
		}
	}
}
