package linux

import (
	"slices"
	"strings"

	"pinion/raftfsm/lazyregexp"
)

// NoNewPrivilegesOptions are the forms of the dockerSecurityOptions with which no process of the container gains privileges by running a
// setuid program.
var NoNewPrivilegesOptions = []string{"no-new-privileges", "no-new-privileges:true"}

// appArmorOption begins the dockerSecurityOptions that names an AppArmor profile of the host.
const appArmorOption = "apparmor:"

var appArmorName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// NoNewPrivileges reports whether one of dockerSecurityOptions asks for it. An option that is not known, which no API takes, counts as this one.
func NoNewPrivileges(options []string) bool {
	return slices.ContainsFunc(options, func(option string) bool { return !strings.HasPrefix(option, appArmorOption) })
}

// AppArmorProfile is the profile of the host that dockerSecurityOptions name, which confines the container beside the default one; empty: none.
func AppArmorProfile(options []string) string {
	for _, option := range options {
		if name, ok := strings.CutPrefix(option, appArmorOption); ok {
			return name
		}
	}
	return ""
}

// ValidSecurityOption reports whether the option is one of dockerSecurityOptions: each of them only tightens.
func ValidSecurityOption(option string) bool {
	name, ok := strings.CutPrefix(option, appArmorOption)
	if ok {
		return appArmorName.MatchString(name) && name != "unconfined"
	}
	return slices.Contains(NoNewPrivilegesOptions, option)
}
