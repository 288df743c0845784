package secrets_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/auth"
	"pinion/api/secrets"
	"pinion/api/secrets/secretstest"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

const ssm = valuefrom.ParameterStore

var errGone = errors.New("there is none")

func request(p *secretstest.Pool, who auth.Principal) *secrets.Request {
	return &secrets.Request{Principal: who, View: p.State.View(), Store: p, Sealer: p, Now: func() time.Time { return p.Now }}
}

// create makes a parameter as a caller.
func create(t *testing.T, p *secretstest.Pool, who auth.Principal, name string, tags ...spec.Tag) error {
	t.Helper()
	_, err := request(p, who).Create(t.Context(), secret.Secret{Store: ssm, Name: name, Tags: tags}, &secret.Version{Number: 1}, "of "+name)
	return err
}

func clusters(names string) spec.Tag { return spec.Tag{Key: secret.TagClusters, Value: names} }

func TestASecretIsForTheClustersOfItsKeyOrItsTag(t *testing.T) {
	p := secretstest.New(t)
	submit := func(scope string) auth.Principal { return secretstest.Key(accesskey.RoleSubmit, scope) }
	for i, c := range []struct {
		who   auth.Principal
		tags  []spec.Tag
		want  spec.ClusterSet
		fails string
	}{
		{who: submit(""), want: ""},
		{who: submit("a"), want: "a"},
		{who: submit("a,b"), want: "a,b"},
		{who: submit(""), tags: []spec.Tag{clusters("b a b")}, want: "a,b"},
		{who: submit("a,b"), tags: []spec.Tag{clusters("b")}, want: "b"},
		{who: submit("a"), tags: []spec.Tag{clusters("a")}, want: "a"},
		{who: submit("a"), tags: []spec.Tag{{Key: spec.TagTeam, Value: "vision"}}, want: "a"},

		{who: submit("a"), tags: []spec.Tag{clusters("b")}, fails: wire.AccessDenied},
		{who: submit("a"), tags: []spec.Tag{clusters("a b")}, fails: wire.AccessDenied},
		{who: submit("a"), tags: []spec.Tag{clusters("none")}, fails: wire.AccessDenied},
		{who: submit(""), tags: []spec.Tag{clusters("none")}, fails: "which does not exist"},
		{who: submit(""), tags: []spec.Tag{clusters("a,b")}, fails: "which does not exist"},
		{who: submit(""), tags: []spec.Tag{clusters(" ")}, fails: "names no cluster"},
		{who: submit(""), tags: []spec.Tag{{Key: "pinion.cluster", Value: "a"}}, fails: "is not known"},
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
		if err != nil || made.Clusters != c.want || made.Versions[0].By != c.who.ARN || !made.CreatedAt.Equal(p.Now) {
			t.Errorf("%d: %v, %+v", i, err, made)
		}
	}
}

// The whole table of rights: what a key may know of, and what it may read and change.
func TestWhoMaySeeAndOwnASecret(t *testing.T) {
	for scope, c := range map[string]struct{ sees, owns string }{
		"":    {"a b both pool", "a b both pool"},
		"a":   {"a both pool", "a"},
		"b":   {"b both pool", "b"},
		"a,b": {"a b both pool", "a b both"},
		"c":   {"pool", ""},
	} {
		p := secretstest.New(t)
		for name, who := range map[string]string{"pool": "", "a": "a", "b": "b", "both": "a,b"} {
			if err := create(t, p, secretstest.Key(accesskey.RoleAdmin, who), name); err != nil {
				t.Fatal(err)
			}
		}
		checkSeesAndOwns(t, p, secretstest.Key(accesskey.RoleSubmit, scope), []string{"a", "b", "both", "pool"}, c.sees, c.owns)
	}
}

// checkSeesAndOwns checks which of the secrets a key sees, in a list and by name, and which it may read, change, tag and delete. The names that it
// sees and owns have blanks between them.
func checkSeesAndOwns(t *testing.T, p *secretstest.Pool, who auth.Principal, names []string, wantSees, wantOwns string) {
	t.Helper()
	r := request(p, who)
	var sees []string
	for _, s := range r.All(ssm) {
		sees = append(sees, s.Name)
	}
	if strings.Join(sees, " ") != wantSees {
		t.Errorf("a key for %q and %v sees %v, want %s", who.Clusters, who.Grant.Teams, sees, wantSees)
	}
	for _, name := range names {
		if found := r.Find(ssm, name); (found != nil) != slices.Contains(sees, name) {
			t.Errorf("%q and %v: the list and the look-up differ on %s", who.Clusters, who.Grant.Teams, name)
		}
		owns := slices.Contains(strings.Fields(wantOwns), name)
		for what, err := range attempts(t, r, name) {
			if (err == nil) != owns || err != nil && !strings.Contains(err.Error(), wire.AccessDenied) && !errors.Is(err, errGone) {
				t.Errorf("a key for %q and %v: %s %s: %v", who.Clusters, who.Grant.Teams, what, name, err)
			}
		}
		if gone := secret.Find(p.State.View(), ssm, name) == nil; gone != owns {
			t.Errorf("a key for %q and %v: %s is gone: %t", who.Clusters, who.Grant.Teams, name, gone)
		}
	}
}

// attempts does everything to a secret, also to one that the caller cannot find, and tells the error of each.
func attempts(t *testing.T, r *secrets.Request, name string) map[string]error {
	ctx := t.Context()
	known := secret.Find(r.View, ssm, name)
	_, read := r.Value(ctx, known, &known.Versions[0])
	_, changed := r.Change(ctx, ssm, name, errGone, func(s *secret.Secret) (*secret.Secret, error) { return s.Clone(), nil })
	tagged := r.SetTags(ctx, known, []spec.Tag{{Key: "k", Value: "v"}}, nil)
	if err := r.Renew(ctx); err != nil {
		t.Fatal(err)
	}
	return map[string]error{"read": read, "change": changed, "tag": tagged, "delete": r.Delete(ctx, ssm, name, errGone)}
}

func TestTheTagOfTheClustersStays(t *testing.T) {
	p := secretstest.New(t)
	if err := create(t, p, secretstest.Admin, "/x", clusters("a")); err != nil {
		t.Fatal(err)
	}
	r := request(p, secretstest.Admin)
	s := r.Find(ssm, "/x")
	for what, err := range map[string]error{
		"another cluster": r.SetTags(t.Context(), s, []spec.Tag{clusters("b")}, nil),
		"more clusters":   r.SetTags(t.Context(), s, []spec.Tag{clusters("a b")}, nil),
		"no cluster":      r.SetTags(t.Context(), s, []spec.Tag{clusters("")}, nil),
		"removed":         r.SetTags(t.Context(), s, nil, []string{secret.TagClusters}),
		"mistyped":        r.SetTags(t.Context(), s, []spec.Tag{{Key: "pinion.clutters", Value: "b"}}, nil),
	} {
		if err == nil {
			t.Errorf("%s: it is done", what)
		}
	}
	if err := r.SetTags(t.Context(), s, []spec.Tag{clusters("a")}, nil); err != nil {
		t.Errorf("the same again: %v", err)
	}
}

// A change begins anew while others change the secret, and is decided on what they have left.
func TestAChangeIsMadeToTheSecretAsItIs(t *testing.T) {
	p := secretstest.New(t)
	if err := create(t, p, secretstest.Admin, "/x"); err != nil {
		t.Fatal(err)
	}
	add := func(text string) error {
		r := request(p, secretstest.Admin)
		_, err := r.Change(t.Context(), ssm, "/x", errGone, func(s *secret.Secret) (*secret.Secret, error) {
			return r.With(t.Context(), s, secret.Version{Number: s.Versions[len(s.Versions)-1].Number + 1}, text)
		})
		return err
	}
	others := 3
	p.Before = func() {
		if others--; others >= 0 {
			if err := add("of another"); err != nil {
				t.Error(err)
			}
		}
	}
	if err := add("mine"); err != nil {
		t.Fatal(err)
	}
	r := request(p, secretstest.Admin)
	s := r.Find(ssm, "/x")
	last := &s.Versions[len(s.Versions)-1]
	if value, err := r.Value(t.Context(), s, last); err != nil || value != "mine" || last.Number != 5 || len(s.Versions) != 5 {
		t.Errorf("%q, %v, %+v", value, err, s.Versions)
	}
	p.Before = func() { _ = add("of another, each time") }
	if err := add("mine"); !errors.Is(err, secret.ErrChanged) {
		t.Errorf("others come before for ever: %v", err)
	}
	p.Before = func() {
		p.Before = nil
		if err := request(p, secretstest.Admin).Delete(t.Context(), ssm, "/x", errGone); err != nil {
			t.Error(err)
		}
	}
	if err := add("mine"); !errors.Is(err, errGone) {
		t.Errorf("it is deleted meanwhile: %v", err)
	}
}

// Whoever deletes a secret and creates one of the name for other clusters has not left it to who could change the one before.
func TestASecretThatBecameAnothersIsNotChanged(t *testing.T) {
	p := secretstest.New(t)
	ofA := secretstest.Key(accesskey.RoleSubmit, "a")
	for _, version := range []int{1, 2} { // of the secret: the first Replace has revision 1
		if err := create(t, p, ofA, "/x"); err != nil {
			t.Fatal(err)
		}
		r := request(p, ofA)
		p.Before = func() {
			p.Before = nil
			if err := request(p, ofA).Delete(t.Context(), ssm, "/x", errGone); err != nil {
				t.Error(err)
			}
			p.Now = p.Now.Add(time.Second)
			if err := create(t, p, secretstest.Key(accesskey.RoleSubmit, "b"), "/x"); err != nil {
				t.Error(err)
			}
		}
		_, err := r.Change(t.Context(), ssm, "/x", errGone, func(s *secret.Secret) (*secret.Secret, error) { return s.Clone(), nil })
		p.Before = nil
		if is := secret.Find(p.State.View(), ssm, "/x"); err == nil || is.Clusters != "b" {
			t.Errorf("%d: %v, it is for %v", version, err, is.Clusters)
		}
		if err := request(p, secretstest.Admin).Delete(t.Context(), ssm, "/x", errGone); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAValueIsSealedWithItsOwnVersion(t *testing.T) {
	p := secretstest.New(t)
	for _, name := range []string{"/x", "/y"} {
		if err := create(t, p, secretstest.Admin, name); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Contains(p.Log, []byte("/x")) || bytes.Contains(p.Log, []byte("of /x")) {
		t.Errorf("the log has the value, or not even the name")
	}
	r := request(p, secretstest.Admin)
	x, y := r.Find(ssm, "/x"), r.Find(ssm, "/y")
	if _, err := r.Value(t.Context(), y, &x.Versions[0]); !errors.Is(err, secrets.ErrUnreadable) {
		t.Errorf("the value of another opens: %v", err)
	}
	lost := x.Versions[0]
	lost.Seal = "lost"
	if value, err := r.Value(t.Context(), x, &lost); !errors.Is(err, secrets.ErrUnreadable) || value != "" {
		t.Errorf("%v", err)
	}
	r.Sealer = nil
	if _, err := r.Value(t.Context(), x, &x.Versions[0]); err == nil {
		t.Error("a host without sealing keys reads a value")
	}
	if _, err := r.Create(t.Context(), secret.Secret{Store: ssm, Name: "/z"}, &secret.Version{Number: 1}, "v"); err == nil {
		t.Error("a host without sealing keys keeps a value")
	}
}
