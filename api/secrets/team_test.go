package secrets_test

import (
	"fmt"
	"strings"
	"testing"

	"pinion/api/auth"
	"pinion/api/secrets/secretstest"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
)

func teams(names string) spec.Tag { return spec.Tag{Key: secret.TagTeams, Value: names} }

// keyFor is a caller whose key is for some clusters and teams, each with commas between, or for all.
func keyFor(clusters, teams string) auth.Principal {
	return secretstest.OfTeams(secretstest.Key(accesskey.RoleSubmit, clusters), strings.FieldsFunc(teams, func(r rune) bool { return r == ',' })...)
}

func TestASecretIsForTheTeamsOfItsKeyOrItsTag(t *testing.T) {
	p := secretstest.New(t)
	for i, c := range []struct {
		who   auth.Principal
		tags  []spec.Tag
		want  string
		fails string
	}{
		{who: keyFor("", ""), want: ""},
		{who: keyFor("a", "vision"), want: "vision"},
		{who: keyFor("", "vision,speech"), want: "speech vision"},
		{who: keyFor("", ""), tags: []spec.Tag{teams("vision speech vision")}, want: "speech vision"},
		{who: keyFor("a", "vision,speech"), tags: []spec.Tag{clusters("a"), teams("vision")}, want: "vision"},

		{who: keyFor("a", "vision"), tags: []spec.Tag{teams("speech")}, fails: wire.AccessDenied},
		{who: keyFor("", "vision"), tags: []spec.Tag{teams("vision speech")}, fails: wire.AccessDenied},
		{who: keyFor("", "vision"), tags: []spec.Tag{teams(" ")}, fails: "names no team"},
		{who: keyFor("", ""), tags: []spec.Tag{teams("")}, fails: "names no team"},
	} {
		name := fmt.Sprintf("/n/%d", i)
		err := create(t, p, c.who, name, c.tags...)
		made := secret.Find(p.State.View(), ssm, name)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) || made != nil {
				t.Errorf("%d: %v, %+v", i, err, made)
			}
			continue
		}
		if err != nil || strings.Join(made.Teams, " ") != c.want {
			t.Errorf("%d: %v, %+v", i, err, made)
		}
	}
}

// The rights of a team are those of a cluster over again: a key has to be for one team to know of a secret, and for all of them to read and change it.
func TestAKeyForTeamsKnowsAndOwnsThoseOfItsTeams(t *testing.T) {
	for key, c := range map[string]struct{ sees, owns string }{
		"|":              {"a/vision both pool vision", "a/vision both pool vision"},
		"|vision":        {"a/vision both pool vision", "a/vision vision"},
		"|speech":        {"both pool", ""},
		"|speech,vision": {"a/vision both pool vision", "a/vision both vision"},
		"a|vision":       {"a/vision both pool vision", "a/vision"},
		"b|vision":       {"both pool vision", ""},
		"a|":             {"a/vision both pool vision", "a/vision"},
		"|nobody":        {"pool", ""},
	} {
		p := secretstest.New(t)
		for name, who := range map[string]auth.Principal{"pool": keyFor("", ""), "vision": keyFor("", "vision"), "both": keyFor("", "vision,speech"), "a/vision": keyFor("a", "vision")} {
			if err := create(t, p, who, name); err != nil {
				t.Fatal(err)
			}
		}
		scope, team, _ := strings.Cut(key, "|")
		checkSeesAndOwns(t, p, keyFor(scope, team), []string{"pool", "vision", "both", "a/vision"}, c.sees, c.owns)
	}
}

func TestTheTagOfTheTeamsStays(t *testing.T) {
	p := secretstest.New(t)
	if err := create(t, p, keyFor("", "vision"), "/x"); err != nil {
		t.Fatal(err)
	}
	for _, who := range []auth.Principal{secretstest.Admin, keyFor("", "vision")} {
		r := request(p, who)
		s := r.Find(ssm, "/x")
		for what, err := range map[string]error{
			"another team": r.SetTags(t.Context(), s, []spec.Tag{teams("speech")}, nil),
			"more teams":   r.SetTags(t.Context(), s, []spec.Tag{teams("speech vision")}, nil),
			"no team":      r.SetTags(t.Context(), s, []spec.Tag{teams("")}, nil),
			"removed":      r.SetTags(t.Context(), s, nil, []string{secret.TagTeams}),
		} {
			if err == nil {
				t.Errorf("%s: %s: it is done", who.ARN, what)
			}
		}
		if err := r.SetTags(t.Context(), s, []spec.Tag{teams("vision")}, nil); err != nil {
			t.Errorf("%s: the same again: %v", who.ARN, err)
		}
	}
}
