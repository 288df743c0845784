package secretsmanager

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
)

// maxListed is AWS's most items of one page.
const maxListed = 100

type listInput struct {
	Filters                []filter `json:"Filters"`
	IncludePlannedDeletion bool     `json:"IncludePlannedDeletion"`
	SortBy                 string   `json:"SortBy"`
	SortOrder              string   `json:"SortOrder"`
	secrets.Paging
}

type listOutput struct {
	SecretList []listedSecret `json:"SecretList"`
	NextToken  string         `json:"NextToken,omitempty"`
}

func listSecrets(ctx context.Context, r *secrets.Request, in *listInput) (*listOutput, error) {
	conditions, err := compile(in.Filters)
	if err != nil {
		return nil, err
	}
	order, err := in.order()
	if err != nil {
		return nil, err
	}
	found, err := conditions.choose(ctx, r.All(store), in.IncludePlannedDeletion)
	if err != nil {
		return nil, err
	}
	sorted := make([]keyed, 0, len(found))
	for _, s := range found {
		sorted = append(sorted, keyed{order.Key(s), s})
	}
	slices.SortFunc(sorted, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	if order.Descending {
		slices.Reverse(sorted)
	}
	page, next, err := secrets.Page(in.Paging, sorted, maxListed, secrets.Order[keyed]{Key: func(k keyed) string { return k.key }, Descending: order.Descending})
	if err != nil {
		return nil, err
	}
	out := &listOutput{SecretList: []listedSecret{}, NextToken: next}
	for _, k := range page {
		out.SecretList = append(out.SecretList, listedSecret{descriptionOf(r, k.secret), stagesOf(k.secret)})
	}
	return out, nil
}

// keyed is a secret with its key in the order of a list, which is made once.
type keyed struct {
	key    string
	secret *secret.Secret
}

// order is the order of a list: by the time of creation, unless the input has another.
func (in *listInput) order() (order secrets.Order[*secret.Secret], err error) {
	switch cmp.Or(in.SortBy, "created-date") {
	case "created-date":
		order.Key = func(s *secret.Secret) string { return timeKey(s.CreatedAt, s.Name) }
	case "last-changed-date":
		order.Key = func(s *secret.Secret) string { return timeKey(s.ChangedAt, s.Name) }
	case "name":
		order.Key = func(s *secret.Secret) string { return s.Name }
	default:
		return order, errInvalid("SortBy must be created-date, last-changed-date or name, not %.100q.", in.SortBy)
	}
	switch in.SortOrder {
	case "", "asc":
	case "desc":
		order.Descending = true
	default:
		return order, errInvalid("SortOrder must be asc or desc, not %.100q.", in.SortOrder)
	}
	return order, nil
}

// timeKey sorts by a time, and by a name at the same.
func timeKey(t time.Time, name string) string { return fmt.Sprintf("%019d %s", t.UnixNano(), name) }

type versionsInput struct {
	SecretID          string `json:"SecretId"`
	IncludeDeprecated bool   `json:"IncludeDeprecated"`
	secrets.Paging
}

type listedVersion struct {
	VersionID     string    `json:"VersionId"`
	VersionStages []string  `json:"VersionStages,omitempty"`
	CreatedDate   wire.Time `json:"CreatedDate"`
}

type versionsOutput struct {
	named
	Versions  []listedVersion `json:"Versions"`
	NextToken string          `json:"NextToken,omitempty"`
}

// listSecretVersionIDs lists the versions that have a stage, the oldest first; the others too when they are asked for.
func listSecretVersionIDs(_ context.Context, r *secrets.Request, in *versionsInput) (*versionsOutput, error) {
	found, err := find(r, in.SecretID)
	if err != nil {
		return nil, err
	}
	versions := slices.DeleteFunc(slices.Clone(found.Versions), func(v secret.Version) bool { return len(v.Stages) == 0 && !in.IncludeDeprecated })
	byTime := secrets.Order[secret.Version]{Key: func(v secret.Version) string { return timeKey(v.CreatedAt, v.ID) }}
	slices.SortFunc(versions, func(a, b secret.Version) int { return strings.Compare(byTime.Key(a), byTime.Key(b)) })
	page, next, err := secrets.Page(in.Paging, versions, maxListed, byTime)
	if err != nil {
		return nil, err
	}
	out := &versionsOutput{named: nameOf(r, found), Versions: []listedVersion{}, NextToken: next}
	for _, v := range page {
		out.Versions = append(out.Versions, listedVersion{v.ID, v.Stages, wire.NewTime(v.CreatedAt)})
	}
	return out, nil
}
