package auth

import (
	"errors"
	"net/http/httptest"
	"testing"

	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

func denied(err error) bool {
	refusal, ok := errors.AsType[*wire.Error](err)
	return ok && refusal.Type == wire.AccessDenied
}

func TestAPrincipalMayDoWhatItsRoleAllows(t *testing.T) {
	for _, c := range []struct {
		role, needed accesskey.Role
		allowed      bool
	}{
		{accesskey.RoleRead, accesskey.RoleRead, true},
		{accesskey.RoleRead, accesskey.RoleSubmit, false},
		{accesskey.RoleSubmit, accesskey.RoleRead, true},
		{accesskey.RoleSubmit, accesskey.RoleAdmin, false},
		{accesskey.RoleAdmin, accesskey.RoleAdmin, true},
		{"unknown", accesskey.RoleRead, false},
	} {
		if err := (Principal{Role: c.role}).RequireRole(c.needed, "RunTask"); denied(err) == c.allowed {
			t.Errorf("%s, needed is %s: %v", c.role, c.needed, err)
		}
	}
}

func TestAKeyForOneClusterIsForThatOneAlone(t *testing.T) {
	all, lab := Principal{}, Principal{Clusters: "lab"}
	for cluster, allowed := range map[string]bool{"lab": true, "default": false, "": false} {
		if err := lab.RequireCluster(cluster); denied(err) == allowed {
			t.Errorf("lab, cluster %q: %v", cluster, err)
		}
		if err := all.RequireCluster(cluster); err != nil {
			t.Errorf("all, cluster %q: %v", cluster, err)
		}
	}
	if all.RequireUnscoped("RunTask") != nil || !denied(lab.RequireUnscoped("RunTask")) {
		t.Error("what is about the whole pool needs a key for all clusters")
	}
	for _, c := range []struct {
		principal Principal
		query     string
		cluster   string
		allowed   bool
	}{
		{all, "", "", true},
		{all, "?cluster=lab", "lab", true},
		{lab, "", "lab", true}, // the only one that the key may see
		{lab, "?cluster=lab", "lab", true},
		{lab, "?cluster=other", "other", false},
	} {
		cluster, err := c.principal.ClusterOf(httptest.NewRequest("GET", "/v1/hosts"+c.query, nil))
		if cluster != c.cluster || denied(err) == c.allowed {
			t.Errorf("%+v: %q, %v", c, cluster, err)
		}
	}
}
