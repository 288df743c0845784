package secretsmanager

import (
	"context"
	"strings"

	"pinion/api/httpx"
	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
)

type getInput struct {
	SecretID     string `json:"SecretId"`
	VersionID    string `json:"VersionId"`
	VersionStage string `json:"VersionStage"`
}

// shownValue is one version of a secret, with its value.
type shownValue struct {
	named
	VersionID     string    `json:"VersionId"`
	SecretString  string    `json:"SecretString,omitempty"`
	SecretBinary  string    `json:"SecretBinary,omitempty"` // in base64
	VersionStages []string  `json:"VersionStages"`
	CreatedDate   wire.Time `json:"CreatedDate"`
}

func getSecretValue(ctx context.Context, r *secrets.Request, in *getInput) (*shownValue, error) {
	found, err := find(r, in.SecretID)
	if err != nil {
		return nil, err
	}
	return show(ctx, r, found, in.VersionID, in.VersionStage)
}

// show is a version of a secret, for a caller that may read it.
func show(ctx context.Context, r *secrets.Request, s *secret.Secret, id, stage string) (*shownValue, error) {
	if err := r.RequireOwner(s); err != nil {
		return nil, err
	}
	if err := secret.ReadOnly(s); err != nil {
		return nil, err
	}
	v, err := version(s, id, stage)
	if err != nil {
		return nil, err
	}
	text, err := r.Value(ctx, s, v)
	if err != nil {
		return nil, err
	}
	shown := &shownValue{named: nameOf(r, s), VersionID: v.ID, VersionStages: append([]string{}, v.Stages...), CreatedDate: wire.NewTime(v.CreatedAt)}
	if v.Binary {
		shown.SecretBinary = text
	} else {
		shown.SecretString = text
	}
	return shown, nil
}

type batchInput struct {
	SecretIDList []string `json:"SecretIdList"`
	Filters      []filter `json:"Filters"`
	secrets.Paging
}

// failure is why one of several secrets is not answered.
type failure struct {
	SecretID  string `json:"SecretId"`
	ErrorCode string `json:"ErrorCode"`
	Message   string `json:"Message"`
}

type batchOutput struct {
	SecretValues []shownValue `json:"SecretValues"`
	Errors       []failure    `json:"Errors"`
	NextToken    string       `json:"NextToken,omitempty"`
}

// maxBatch is AWS's most secrets of one request.
const maxBatch = 20

// batchGetSecretValue answers the current versions of several secrets. Those that it cannot answer are among the errors.
func batchGetSecretValue(ctx context.Context, r *secrets.Request, in *batchInput) (*batchOutput, error) {
	ids, next, err := in.ids(ctx, r)
	if err != nil {
		return nil, err
	}
	out := &batchOutput{SecretValues: []shownValue{}, Errors: []failure{}, NextToken: next}
	for _, id := range ids {
		shown, err := getSecretValue(ctx, r, &getInput{SecretID: id})
		if err == nil {
			out.SecretValues = append(out.SecretValues, *shown)
			continue
		}
		refusal, _ := httpx.ToWireError(wire.WithErrorType(invalid, explain(err)))
		if refusal.Type == wire.Server {
			return nil, err
		}
		out.Errors = append(out.Errors, failure{id, refusal.Type, refusal.Message})
	}
	return out, nil
}

// ids are the secrets of one page.
func (in *batchInput) ids(ctx context.Context, r *secrets.Request) (ids []string, next string, err error) {
	switch {
	case len(in.SecretIDList) > 0 && len(in.Filters) > 0, len(in.SecretIDList) == 0 && len(in.Filters) == 0:
		return nil, "", errInvalid("Either SecretIdList or Filters must be given, and not both.")
	case len(in.SecretIDList) > maxBatch:
		return nil, "", errInvalid("SecretIdList can have at most %d items, not %d.", maxBatch, len(in.SecretIDList))
	case len(in.SecretIDList) > 0 && (in.MaxResults != nil || in.NextToken != ""):
		return nil, "", errInvalid("MaxResults and NextToken are for Filters, not for SecretIdList.")
	case len(in.SecretIDList) > 0:
		return in.SecretIDList, "", nil
	}
	conditions, err := compile(in.Filters)
	if err != nil {
		return nil, "", err
	}
	found, err := conditions.choose(ctx, r.All(store), false)
	if err != nil {
		return nil, "", err
	}
	page, next, err := secrets.Page(in.Paging, found, maxBatch, secrets.Order[*secret.Secret]{Key: func(s *secret.Secret) string { return strings.TrimPrefix(s.Name, "/") }})
	for _, s := range page {
		ids = append(ids, s.Name)
	}
	return ids, next, err
}
