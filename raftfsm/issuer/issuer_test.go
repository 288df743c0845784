package issuer

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

func number(n int) *int { return &n }

var mapped = Issuer{GroupsClaim: "groups", Groups: []Group{
	{"admins", accesskey.Rights{Role: accesskey.RoleAdmin}},
	{"audio", accesskey.Rights{Role: accesskey.RoleSubmit, Cluster: "audio", Grant: accesskey.Grant{MaxGPUs: number(8)}}},
	{"everybody", accesskey.Rights{Role: accesskey.RoleRead}},
	{"guests", accesskey.Rights{Role: accesskey.RoleRead, Cluster: "video"}},
	{"leads", accesskey.Rights{Role: accesskey.RoleAdmin, Cluster: "audio"}},
	{"speech", accesskey.Rights{Role: accesskey.RoleSubmit, Cluster: "audio", Grant: accesskey.Grant{Teams: []string{"speech"}}}},
	{"text", accesskey.Rights{Role: accesskey.RoleSubmit, Cluster: "audio", Grant: accesskey.Grant{Teams: []string{"text"}}}},
	{"video", accesskey.Rights{Role: accesskey.RoleSubmit, Cluster: "video", Grant: accesskey.Grant{MaxGPUs: number(8)}}},
}}

func TestGroupsGiveWhatOneOfThemGivesOrWhatAllDoInClustersOrTeams(t *testing.T) {
	for groups, want := range map[string]string{
		"audio":                  "submit audio  by audio",
		"audio unmapped":         "submit audio  by audio",
		"admins audio everybody": "admin   by admins",
		"audio video":            "submit audio,video  by audio video",
		"guests video":           "submit video  by video",
		"speech text":            "submit audio speech text by speech text",
		"everybody guests":       "read   by everybody",
		"everybody leads":        "", // the admin of a cluster is not one of all clusters
		"audio everybody":        "", // nor may who submits there submit anywhere
		"audio speech":           "", // the limits are of different things
		"unmapped":               "",
		"":                       "",
	} {
		rights, by, err := mapped.Rights(strings.Fields(groups))
		got := ""
		if err == nil {
			got = strings.Join([]string{string(rights.Role), rights.Cluster, strings.Join(rights.Grant.Teams, " "), "by", strings.Join(by, " ")}, " ")
		} else if !errors.Is(err, ErrNoRights) {
			t.Errorf("%s: %v", groups, err)
		}
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
			t.Errorf("%s: %q, not %q (%v)", groups, got, want, err)
		}
	}
}

// Whatever the groups, a key may do nothing that none of them allows.
func TestNoKeyMayMoreThanOneOfItsGroups(t *testing.T) {
	words := func(t *rapid.T, of, what string) []string {
		return slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.SampledFrom(strings.Split(of, "")), 0, 2).Draw(t, what))))
	}
	rapid.Check(t, func(t *rapid.T) {
		var i Issuer
		var names []string
		for n := range rapid.IntRange(1, 4).Draw(t, "groups") {
			g := Group{Name: string(rune('a' + n)), Rights: accesskey.Rights{
				Role: rapid.SampledFrom(accesskey.Roles).Draw(t, "role"), Cluster: strings.Join(words(t, "xyz", "clusters"), ","),
				Grant: accesskey.Grant{Teams: words(t, "pq", "teams"), MaxTasks: rapid.IntRange(0, 2).Draw(t, "tasks")},
			}}
			if rapid.Bool().Draw(t, "bounded") {
				g.Rights.Grant.MaxPriority = number(rapid.IntRange(0, 2).Draw(t, "priority"))
			}
			i.Groups, names = append(i.Groups, g), append(names, g.Name)
		}
		rights, _, err := i.Rights(names)
		if err != nil {
			return
		}
		may := func(r accesskey.Rights, role accesskey.Role, cluster, team string, priority, tasks int) bool {
			_, wrong := r.Grant.CheckTeam(team)
			return r.Role.May(role) && spec.ClusterSet(r.Cluster).Has(cluster) && wrong == nil && r.Grant.CheckPriority(priority) == nil &&
				(r.Grant.MaxTasks == 0 || tasks <= r.Grant.MaxTasks)
		}
		for _, role := range accesskey.Roles {
			for _, cluster := range []string{"x", "y", "z", "other", ""} {
				for _, team := range []string{"p", "q", "other"} {
					for n := range 9 {
						priority, tasks := n%3, n/3+1
						if may(rights, role, cluster, team, priority, tasks) && !slices.ContainsFunc(i.Groups, func(g Group) bool { return may(g.Rights, role, cluster, team, priority, tasks) }) {
							t.Fatalf("%+v may %s in %q for %q at %d with %d tasks, which none of %+v may", rights, role, cluster, team, priority, tasks, i.Groups)
						}
					}
				}
			}
		}
	})
}

func TestAnIssuerIsReachedOverTLS(t *testing.T) {
	for url, fine := range map[string]bool{
		"https://idp.example.com/realms/lab": true, "http://127.0.0.1:8080": true, "http://[::1]:8080": true, "http://localhost:8080": true,
		"http://idp.example.com": false, "http://10.0.0.1": false, "ftp://idp.example.com": false, "https://": false, "idp.example.com": false, "": false,
		"https://user:pass@idp.example.com": false, "https://idp.example.com/?a=b": false, "https://idp.example.com/#a": false,
		"http://127.0.0.1.example.com": false, "https://idp.example.com/\n": false, "https://" + strings.Repeat("a", 600): false,
	} {
		if err := (Issuer{URL: url, ClientID: "pinion"}).Or().Check(); (err == nil) != fine {
			t.Errorf("%s: %v", url, err)
		}
	}
	good := Issuer{URL: "https://idp.example.com", ClientID: "pinion"}.Or()
	for what, change := range map[string]func(*Issuer){
		"no client":         func(i *Issuer) { i.ClientID = "" },
		"a long life":       func(i *Issuer) { i.Lifetime = MaxLifetime + time.Second },
		"no life":           func(i *Issuer) { i.Lifetime = -time.Second },
		"a CA that is not":  func(i *Issuer) { i.CA = []byte("x") },
		"two scopes in one": func(i *Issuer) { i.Scopes = []string{"a b"} },
	} {
		i := good
		if change(&i); i.Check() == nil {
			t.Errorf("%s passes", what)
		}
	}
}
