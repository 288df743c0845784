package secretsmanager

import (
	"context"
	"slices"

	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
)

type idInput struct {
	SecretID string `json:"SecretId"`
}

// description is what is told of a secret beside its values.
type description struct {
	named
	Description     string        `json:"Description,omitempty"`
	KMSKeyID        string        `json:"KmsKeyId,omitempty"`
	LastChangedDate wire.Time     `json:"LastChangedDate"`
	CreatedDate     wire.Time     `json:"CreatedDate"`
	DeletedDate     wire.Time     `json:"DeletedDate,omitzero"`
	Tags            []secrets.Tag `json:"Tags"`
	Clusters        []string      `json:"Clusters,omitempty"` // Pinion's own: which it is for; absent: all
	Teams           []string      `json:"Teams,omitempty"`    // likewise
}

type describeOutput struct {
	description
	VersionIDsToStages map[string][]string `json:"VersionIdsToStages,omitempty"`
}

type listedSecret struct {
	description
	SecretVersionsToStages map[string][]string `json:"SecretVersionsToStages,omitempty"`
}

func descriptionOf(r *secrets.Request, s *secret.Secret) description {
	e := description{
		named: nameOf(r, s), Description: s.Description, KMSKeyID: s.KeyID, Tags: secrets.ToTags(s.Tags),
		LastChangedDate: wire.NewTime(s.ChangedAt), CreatedDate: wire.NewTime(s.CreatedAt), Clusters: slices.Collect(s.Clusters.Names()), Teams: s.Teams,
	}
	if secret.ReadOnly(s) != nil {
		e.DeletedDate = wire.NewTime(s.DeletedAt)
	}
	return e
}

func describeSecret(_ context.Context, r *secrets.Request, in *idInput) (*describeOutput, error) {
	found, err := find(r, in.SecretID)
	if err != nil {
		return nil, err
	}
	return &describeOutput{descriptionOf(r, found), stagesOf(found)}, nil
}

// getResourcePolicy answers that there is none.
func getResourcePolicy(_ context.Context, r *secrets.Request, in *idInput) (*named, error) {
	found, err := find(r, in.SecretID)
	if err != nil {
		return nil, err
	}
	if err := secret.ReadOnly(found); err != nil {
		return nil, err
	}
	out := nameOf(r, found)
	return &out, nil
}
