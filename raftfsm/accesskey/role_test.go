package accesskey_test

import (
	"testing"

	"pinion/raftfsm/accesskey"
)

func TestARoleMayWhatTheOnesBeforeItMay(t *testing.T) {
	allowed := map[accesskey.Role][]accesskey.Role{accesskey.RoleRead: {accesskey.RoleRead}, accesskey.RoleSubmit: {accesskey.RoleRead, accesskey.RoleSubmit}, accesskey.RoleAdmin: {accesskey.RoleRead, accesskey.RoleSubmit, accesskey.RoleAdmin}, "": nil, "reader": nil}
	for role, may := range allowed {
		for _, needed := range accesskey.Roles {
			want := false
			for _, r := range may {
				want = want || r == needed
			}
			if role.May(needed) != want {
				t.Errorf("%q may %s: %t", role, needed, !want)
			}
		}
	}
}
