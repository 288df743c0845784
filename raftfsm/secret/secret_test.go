package secret_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// pool is a state, and the index of its last command.
type pool struct {
	*raftfsm.State
	index uint64
}

func newPool() *pool { return &pool{State: raftfsm.NewState()} }

func (p *pool) do(c raftfsm.Command) (any, error) {
	p.index++
	return p.Apply(p.index, c)
}

func (p *pool) must(t *testing.T, c raftfsm.Command) *secret.Secret {
	t.Helper()
	answer, err := p.do(c)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := answer.(*secret.Secret)
	return s
}

func named(store valuefrom.Store, name string, versions ...secret.Version) secret.Secret {
	return secret.Secret{Store: store, Name: name, Suffix: "AbCdEf", Versions: versions}
}

func version(id string, stages ...string) secret.Version {
	return secret.Version{ID: id, Stages: stages, Sealed: []byte("sealed " + id)}
}

func create(s secret.Secret) raftfsm.Command  { return raftfsm.Wrap(secret.Create{Secret: s}) }
func replace(s secret.Secret) raftfsm.Command { return raftfsm.Wrap(secret.Replace{Secret: s}) }

func TestAChangeOfAnOlderSecretIsRefused(t *testing.T) {
	p := newPool()
	first := p.must(t, create(named(valuefrom.SecretsManager, "db")))
	if _, err := p.do(create(named(valuefrom.SecretsManager, "db"))); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("the name is there: %v", err)
	}
	if _, err := p.do(create(named(valuefrom.ParameterStore, "db"))); err != nil {
		t.Errorf("a parameter may have the name of a secret: %v", err)
	}
	changed := *first
	changed.Description = "one"
	if second := p.must(t, replace(changed)); second.Revision != first.Revision+1 {
		t.Errorf("revision %d after %d", second.Revision, first.Revision)
	}
	for _, late := range []raftfsm.Command{replace(changed), raftfsm.Wrap(secret.Delete{Secret: changed})} {
		if _, err := p.do(late); !errors.Is(err, secret.ErrChanged) {
			t.Errorf("%T: %v", late, err)
		}
	}
	p.must(t, raftfsm.SetTags{Kind: secret.Resource, ID: first.ID(), Put: []spec.Tag{{Key: "a", Value: "b"}}})
	now := secret.Find(p.View(), valuefrom.SecretsManager, "db")
	if now.Revision != 3 || len(now.Tags) != 1 {
		t.Errorf("after tags: %+v", now)
	}
	p.must(t, raftfsm.Wrap(secret.Delete{Secret: *now}))
	if _, err := p.do(replace(*now)); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("a deleted one: %v", err)
	}
}

func TestASecretIsFoundByItsNames(t *testing.T) {
	p := newPool()
	p.must(t, create(named(valuefrom.SecretsManager, "prod/db")))
	p.must(t, create(named(valuefrom.ParameterStore, "/flat")))
	for name, store := range map[string]valuefrom.Store{"prod/db": valuefrom.SecretsManager, "prod/db-AbCdEf": valuefrom.SecretsManager, "flat": valuefrom.ParameterStore, "/flat": valuefrom.ParameterStore} {
		if secret.Find(p.View(), store, name) == nil {
			t.Errorf("%s %s is not found", store, name)
		}
	}
	for name, store := range map[string]valuefrom.Store{"prod/db-AbCdEg": valuefrom.SecretsManager, "prod": valuefrom.SecretsManager, "flat-AbCdEf": valuefrom.ParameterStore, "": valuefrom.ParameterStore} {
		if found := secret.Find(p.View(), store, name); found != nil {
			t.Errorf("%s %q is %s", store, name, found.Name)
		}
	}
	if arn := secret.Find(p.View(), valuefrom.ParameterStore, "flat").ARN("eu"); arn != "arn:aws:ssm:eu:"+spec.AccountID+":parameter/flat" {
		t.Error(arn)
	}
	if arn := secret.Find(p.View(), valuefrom.SecretsManager, "prod/db").ARN("eu"); !strings.HasSuffix(arn, ":secret:prod/db-AbCdEf") {
		t.Error(arn)
	}
}

// The stage AWSCURRENT is on one version, and leaves AWSPREVIOUS behind.
func TestStagesMove(t *testing.T) {
	s := named(valuefrom.SecretsManager, "db")
	at := &s
	for _, v := range []secret.Version{version("a", secret.Current), version("b", secret.Current), version("c", secret.Pending), version("d", secret.Current)} {
		var err error
		if at, err = at.With(v); err != nil {
			t.Fatal(err)
		}
	}
	wantStages(t, at, "a:[] b:[AWSPREVIOUS] c:[AWSPENDING] d:[AWSCURRENT]")
	back := at.Clone()
	back.MoveStage(secret.Current, "b", 0)
	wantStages(t, back, "a:[] b:[AWSCURRENT] c:[AWSPENDING] d:[AWSPREVIOUS]")
	wantStages(t, at, "a:[] b:[AWSPREVIOUS] c:[AWSPENDING] d:[AWSCURRENT]")
	back.MoveStage(secret.Pending, "", 0)
	wantStages(t, back, "a:[] b:[AWSCURRENT] c:[] d:[AWSPREVIOUS]")
}

func wantStages(t *testing.T, s *secret.Secret, want string) {
	t.Helper()
	var got []string
	for _, v := range s.Versions {
		got = append(got, fmt.Sprintf("%s:%v", v.ID, v.Stages))
	}
	if text := strings.Join(got, " "); text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

func TestOldVersionsGo(t *testing.T) {
	s := named(valuefrom.ParameterStore, "db")
	at, err := s.With(secret.Version{Number: 1, Stages: []string{"golden"}, Sealed: []byte("1")})
	for n := int64(2); n < 100 && err == nil; n++ {
		at, err = at.With(secret.Version{Number: n})
	}
	if err != nil || len(at.Versions) != secret.MaxVersions || at.Versions[0].Number != 1 || at.Version(valuefrom.Reference{}).Number != 99 || at.Version(valuefrom.Reference{Version: "golden"}).Number != 1 {
		t.Errorf("%v, %+v", err, at)
	}
	big := secret.Version{ID: "big", Sealed: bytes.Repeat([]byte("x"), secret.MaxVersionBytes)}
	if at, err = at.With(big); err == nil {
		t.Errorf("the labelled one and one of all bytes are kept: %d", len(at.Versions))
	}
}

func TestWhatAReferenceMeans(t *testing.T) {
	p := newPool()
	p.must(t, create(named(valuefrom.SecretsManager, "db", version("one", secret.Previous), version("two", secret.Current))))
	p.must(t, create(named(valuefrom.SecretsManager, "both", version("secret", secret.Current))))
	p.must(t, create(named(valuefrom.ParameterStore, "both", secret.Version{ID: "parameter", Number: 1}, secret.Version{ID: "later", Number: 2, Stages: []string{"label"}})))
	lab := named(valuefrom.SecretsManager, "lab", version("of the lab", secret.Current))
	lab.Clusters = spec.NewClusterSet([]string{"lab", "rack"})
	p.must(t, create(lab))
	gone := named(valuefrom.SecretsManager, "gone", version("gone", secret.Current))
	gone.DeleteAt = time.Unix(1, 0)
	p.must(t, create(gone))
	const arn = "arn:aws:secretsmanager:r:1:secret:"
	for given, want := range map[string]string{
		"db": "two", arn + "db": "two", arn + "db-AbCdEf:::one": "one", arn + "db::AWSPREVIOUS:": "one", arn + "db::AWSPREVIOUS:two": "",
		"both": "later", "both:1": "parameter", "both:label": "later", "both:3": "", "both:other": "", arn + "both": "secret",
		"lab": "", "gone": "", "nothing": "", arn + "db::AWSPENDING:": "", "arn:aws:ssm:r:1:parameter/db": "",
	} {
		ref, err := valuefrom.Parse(given)
		if err != nil {
			t.Fatal(err)
		}
		_, v, err := secret.Resolve(p.View(), ref, "default", "")
		if got := idOf(v); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: version %q, %v, want %q", given, got, err, want)
		}
	}
	squatted := named(valuefrom.ParameterStore, "db", secret.Version{ID: "of another cluster", Number: 1})
	squatted.Clusters = "rack"
	p.must(t, create(squatted))
	if _, v, err := secret.Resolve(p.View(), valuefrom.Reference{Name: "db"}, "default", ""); idOf(v) != "two" {
		t.Errorf("a parameter of another cluster takes the place of a secret: %s, %v", idOf(v), err)
	}
	for cluster, want := range map[string]bool{"lab": true, "rack": true, "default": false, "": false} {
		if _, _, err := secret.Resolve(p.View(), valuefrom.Reference{Name: "lab"}, cluster, ""); (err == nil) != want || err != nil && (!errors.Is(err, spec.ErrNotFound) || strings.Contains(err.Error(), "rack")) {
			t.Errorf("of cluster %q: %v", cluster, err)
		}
	}
}

func idOf(v *secret.Version) string {
	if v == nil {
		return ""
	}
	return v.ID
}

func TestAPoolKeepsSoMuch(t *testing.T) {
	p := newPool()
	large := secret.Version{ID: "large", Sealed: bytes.Repeat([]byte("x"), secret.MaxVersionBytes), Stages: []string{secret.Current}}
	var err error
	for i := 0; i <= secret.MaxBytes/secret.MaxVersionBytes && err == nil; i++ {
		_, err = p.do(create(named(valuefrom.SecretsManager, fmt.Sprint("s", i), large)))
	}
	if !errors.Is(err, secret.ErrTooMany) {
		t.Fatal(err)
	}
	smaller := *secret.Find(p.View(), valuefrom.SecretsManager, "s0")
	smaller.Versions = slices.Clone(smaller.Versions)
	smaller.Versions[0].Sealed = nil
	p.must(t, replace(smaller))
}

func TestWhatIsToBeDeletedGoesInTime(t *testing.T) {
	p := newPool()
	s := named(valuefrom.SecretsManager, "db")
	s.DeleteAt = time.Unix(100, 0)
	p.must(t, create(s))
	if _, err := p.do(raftfsm.SetTags{Kind: secret.Resource, ID: s.ID(), Put: []spec.Tag{{Key: "a"}}}); !errors.Is(err, spec.ErrInactive) {
		t.Errorf("tags: %v", err)
	}
	for at, there := range map[int64]bool{100: true, 101: false} {
		fork := raftfsm.Fork(p.View())
		if _, err := fork.Apply(p.index+1, raftfsm.Reap{Before: time.Unix(at, 0)}); err != nil {
			t.Fatal(err)
		}
		if found := secret.Find(fork.View(), valuefrom.SecretsManager, "db"); (found != nil) != there {
			t.Errorf("at %d: %v", at, found)
		}
	}
}
