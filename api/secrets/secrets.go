package secrets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// Store is the replicated state as operations change it.
type Store interface {
	// View is linearizable.
	View(ctx context.Context) (*raftfsm.View, error)
	// Propose records a command and returns its answer; refusals are raftfsm's errors, wrapped.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
}

// Sealer seals and opens values with the pool's sealing keys.
type Sealer interface {
	// Seal seals the value of a version of a secret, into Sealed and Seal of the version.
	Seal(ctx context.Context, s *secret.Secret, v *secret.Version, value string) error
	// Open is the value of a version.
	Open(ctx context.Context, s *secret.Secret, v *secret.Version) (string, error)
}

// Request is one request for one operation. It is used by one goroutine.
type Request struct {
	Principal auth.Principal
	View      *raftfsm.View // linearizable
	Store     Store         // for changes
	Sealer    Sealer        // nil: this host keeps no secrets
	Now       func() time.Time

	Strictness wire.Strictness // what becomes of unknown members

	Used []string // names of what was changed, or whose value was asked for; for the audit log
}

// maxAttempts bounds the attempts of a change that others come before.
const maxAttempts = 20

// errNoSealer is for hosts without sealing keys.
var errNoSealer = wire.Errorf(wire.Server, "this host has no sealing keys, so it can keep no secrets")

// ErrUnreadable is the error of a value that this host cannot open.
var ErrUnreadable = errors.New("put back the file seal.key of a server of the pool that could read it")

// Sees reports whether the caller may know of a secret: whether it is for one of the clusters and one of the teams of its key.
func (r *Request) Sees(s *secret.Secret) bool {
	return (s.Clusters == "" || r.Principal.Clusters.Set().Intersects(s.Clusters)) && s.MeetsTeams(r.Principal.Grant.Teams)
}

// Find is the secret of a name that the caller may know of; nil when there is none. One that is to be deleted is found too.
func (r *Request) Find(store valuefrom.Store, name string) *secret.Secret {
	if found := secret.Find(r.View, store, name); found != nil && r.Sees(found) {
		return found
	}
	return nil
}

// All lists the secrets of a store that the caller may know of, by name.
func (r *Request) All(store valuefrom.Store) (all []*secret.Secret) {
	for s := range secret.All(r.View, store) {
		if r.Sees(s) {
			all = append(all, s)
		}
	}
	return all
}

// RequireOwner refuses to read the value of a secret, or to change it, to keys that are not for all of its clusters and teams. This is the one place
// where that is decided, so here the secret is noted for the audit log.
func (r *Request) RequireOwner(s *secret.Secret) error {
	if !slices.Contains(r.Used, s.Name) {
		r.Used = append(r.Used, s.Name)
	}
	switch {
	case !r.Principal.Clusters.Set().Contains(s.Clusters):
	case !s.OwnedByTeams(r.Principal.Grant.Teams):
		return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %s, and the %s %s is for %s. Tasks of those teams may use it; to read or change it, use a key for all of them.",
			r.Principal.ARN, secret.TeamsText(r.Principal.Grant.Teams), s.Kind(), s.Name, secret.TeamsText(s.Teams))
	default:
		return nil
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v, and the %s %s is for %s. Tasks of those clusters may use it; to read or change it, use a key for all of them.",
		r.Principal.ARN, r.Principal.Clusters.Set(), s.Kind(), s.Name, cmp.Or(s.Clusters.String(), "all clusters"))
}

// clusters are those that a new secret with these tags is for: the ones of the tag pinion.clusters, or those of the caller's key.
func (r *Request) clusters(tags []spec.Tag) (spec.ClusterSet, error) {
	at := slices.IndexFunc(tags, func(t spec.Tag) bool { return t.Key == secret.TagClusters })
	if at < 0 {
		return r.Principal.Clusters.Set(), nil
	}
	names := strings.Fields(tags[at].Value)
	if len(names) == 0 {
		return "", wire.Errorf(wire.Client, "The tag %s names no cluster. Leave it out for all clusters that the key is for.", secret.TagClusters)
	}
	for _, name := range names {
		if err := r.Principal.RequireCluster(name); err != nil {
			return "", err
		}
		if known := r.View.Cluster(name); known == nil || known.Status != spec.ClusterActive {
			return "", wire.Errorf(wire.Client, "The tag %s names the cluster %.255q, which does not exist.", secret.TagClusters, name)
		}
	}
	return spec.NewClusterSet(names), nil
}

// teams are those that a new secret with these tags is for: the ones of the tag pinion.teams, or those of the caller's key.
func (r *Request) teams(given []spec.Tag) ([]string, error) {
	at := slices.IndexFunc(given, func(t spec.Tag) bool { return t.Key == secret.TagTeams })
	if at < 0 {
		return secret.NewTeams(r.Principal.Grant.Teams), nil
	}
	names := secret.NewTeams(strings.Fields(given[at].Value))
	if len(names) == 0 {
		return nil, wire.Errorf(wire.Client, "The tag %s names no team. Leave it out for all teams that the key is for.", secret.TagTeams)
	}
	for _, name := range names {
		if !r.Principal.Grant.SeesTeam(name) {
			return nil, wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %s, and the tag %s names %s.", r.Principal.ARN, secret.TeamsText(r.Principal.Grant.Teams), secret.TagTeams, name)
		}
	}
	return names, nil
}

// Value is the value of a version, for a caller that owns the secret.
func (r *Request) Value(ctx context.Context, s *secret.Secret, v *secret.Version) (string, error) {
	if r.Sealer == nil {
		return "", errNoSealer
	}
	if err := r.RequireOwner(s); err != nil {
		return "", err
	}
	value, err := r.Sealer.Open(ctx, s, v)
	if err != nil {
		return "", fmt.Errorf("%w: %w", err, ErrUnreadable)
	}
	return value, nil
}

// Create records a secret, with a first version of the value unless the version is nil. Its clusters, its teams, its times and the author of the
// version are filled in. spec.ErrInUse when there is one of the name.
func (r *Request) Create(ctx context.Context, s secret.Secret, v *secret.Version, value string) (_ *secret.Secret, err error) {
	if err := checkOwnTags(s.Tags); err != nil {
		return nil, err
	}
	if s.Clusters, err = r.clusters(s.Tags); err != nil {
		return nil, err
	}
	if s.Teams, err = r.teams(s.Tags); err != nil {
		return nil, err
	}
	r.Used = append(r.Used, s.Name)
	s.CreatedAt = r.Now().UTC()
	s.ChangedAt = s.CreatedAt
	created := &s
	if v != nil {
		if created, err = r.With(ctx, &s, *v, value); err != nil {
			return nil, err
		}
	}
	answer, err := r.Store.Propose(ctx, raftfsm.Wrap(secret.Create{Secret: *created}))
	if err != nil {
		return nil, err
	}
	return answer.(*secret.Secret), nil
}

// With is the secret with one more version of a value.
func (r *Request) With(ctx context.Context, s *secret.Secret, v secret.Version, value string) (*secret.Secret, error) {
	if r.Sealer == nil {
		return nil, errNoSealer
	}
	v.CreatedAt, v.By = r.Now().UTC(), r.Principal.ARN
	if err := r.Sealer.Seal(ctx, s, &v, value); err != nil {
		return nil, fmt.Errorf("seal the value of %s %s: %w", s.Kind(), s.Name, err)
	}
	return s.With(v)
}

// Change replaces the secret of a name by what change makes of it, for a caller that owns it: again and again, from a new view, while others change
// it meanwhile. missing is the error when there is none. change may return what it is given: then nothing is recorded.
func (r *Request) Change(ctx context.Context, store valuefrom.Store, name string, missing error, change func(*secret.Secret) (*secret.Secret, error)) (*secret.Secret, error) {
	for attempt := 1; ; attempt++ {
		known := r.Find(store, name)
		if known == nil {
			return nil, missing
		}
		if err := r.RequireOwner(known); err != nil {
			return nil, err
		}
		changed, err := change(known)
		if err != nil || changed == known {
			return known, err
		}
		changed.ChangedAt = r.Now().UTC()
		answer, err := r.Store.Propose(ctx, raftfsm.Wrap(secret.Replace{Secret: *changed}))
		if err == nil {
			return answer.(*secret.Secret), nil
		}
		if again, err := r.refresh(ctx, attempt, err); !again || err != nil {
			return nil, err
		}
	}
}

// Delete forgets the secret of a name, for a caller that owns it. missing is the error when there is none.
func (r *Request) Delete(ctx context.Context, store valuefrom.Store, name string, missing error) error {
	for attempt := 1; ; attempt++ {
		known := r.Find(store, name)
		if known == nil {
			return missing
		}
		if err := r.RequireOwner(known); err != nil {
			return err
		}
		only := *known
		only.Versions, only.Tags = nil, nil
		_, err := r.Store.Propose(ctx, raftfsm.Wrap(secret.Delete{Secret: only}))
		if err == nil {
			return nil
		}
		if again, err := r.refresh(ctx, attempt, err); !again || err != nil {
			return err
		}
	}
}

// refresh takes a new view when a change has failed because of another one.
func (r *Request) refresh(ctx context.Context, attempt int, failed error) (again bool, err error) {
	if !errors.Is(failed, secret.ErrChanged) && !errors.Is(failed, spec.ErrNotFound) || attempt == maxAttempts {
		return false, failed
	}
	return true, r.Renew(ctx)
}

// Renew goes on with the state as it is now.
func (r *Request) Renew(ctx context.Context) error {
	view, err := r.Store.View(ctx)
	if err == nil {
		r.View = view
	}
	return err
}

// SetTags changes the tags of a secret, for a caller that owns it. spec.ErrTooManyTags, spec.ErrNotFound, spec.ErrInUse, spec.ErrInactive.
func (r *Request) SetTags(ctx context.Context, s *secret.Secret, put []spec.Tag, remove []string) error {
	if err := r.RequireOwner(s); err != nil {
		return err
	}
	for _, key := range remove {
		if key == secret.TagClusters || key == secret.TagTeams {
			return wire.Errorf(wire.Client, "The tag %s says at the creation of the %s %s whom it is for, and stays.", key, s.Kind(), s.Name)
		}
	}
	if err := checkOwnTags(put); err != nil {
		return err
	}
	_, err := r.Store.Propose(ctx, raftfsm.SetTags{Kind: secret.Resource, ID: s.ID(), Put: put, Remove: remove})
	return err
}
