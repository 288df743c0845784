package secretsmanager

import (
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
)

// AWS's bounds of stages.
const (
	maxStages      = 20 // of a version
	maxStageLength = 256
)

type putInput struct {
	SecretID           string   `json:"SecretId"`
	ClientRequestToken string   `json:"ClientRequestToken"`
	VersionStages      []string `json:"VersionStages"`
	givenValue
}

type putOutput struct {
	versionOutput
	VersionStages []string `json:"VersionStages"`
}

// putSecretValue adds a version, which becomes the current one unless it is given other stages.
func putSecretValue(ctx context.Context, r *secrets.Request, in *putInput) (*putOutput, error) {
	name, err := parse(in.SecretID)
	if err != nil {
		return nil, err
	}
	given, err := in.require()
	if err != nil {
		return nil, err
	}
	id, err := versionID(in.ClientRequestToken)
	if err != nil {
		return nil, err
	}
	stages := in.VersionStages
	if len(stages) == 0 {
		stages = []string{secret.Current}
	}
	if err := checkStages(stages); err != nil {
		return nil, err
	}
	put, err := change(ctx, r, name, func(known *secret.Secret) (*secret.Secret, error) {
		if len(known.Versions) == 0 && !slices.Contains(stages, secret.Current) { // the first version is current, as on AWS
			return with(ctx, r, known, id, given, append([]string{secret.Current}, stages...))
		}
		return with(ctx, r, known, id, given, stages)
	})
	if err != nil {
		return nil, err
	}
	return &putOutput{versionOutput{nameOf(r, put), id}, append([]string{}, byID(put, id).Stages...)}, nil
}

// change changes a secret that is not to be deleted.
func change(ctx context.Context, r *secrets.Request, name string, make func(*secret.Secret) (*secret.Secret, error)) (*secret.Secret, error) {
	return r.Change(ctx, store, name, errNone, func(known *secret.Secret) (*secret.Secret, error) {
		if err := secret.ReadOnly(known); err != nil {
			return nil, err
		}
		return make(known)
	})
}

func checkStages(stages []string) error {
	if len(stages) > maxStages {
		return errInvalid("VersionStages can have at most %d items, not %d.", maxStages, len(stages))
	}
	for _, stage := range stages {
		if err := checkStage("VersionStages", stage); err != nil {
			return err
		}
	}
	return nil
}

func checkStage(member, stage string) error {
	if stage == "" || utf8.RuneCountInString(stage) > maxStageLength {
		return errInvalid("%s must have 1 to %d characters.", member, maxStageLength)
	}
	return secrets.CheckText(member, stage, 4*maxStageLength)
}

type updateInput struct {
	SecretID           string  `json:"SecretId"`
	ClientRequestToken string  `json:"ClientRequestToken"`
	Description        *string `json:"Description"`
	KMSKeyID           *string `json:"KmsKeyId"`
	givenValue

	Type wire.Unsupported `json:"Type" why:"no partner manages secrets of a pool"`
}

// updateSecret changes what is given; a value becomes the current version.
func updateSecret(ctx context.Context, r *secrets.Request, in *updateInput) (*versionOutput, error) {
	name, err := parse(in.SecretID)
	if err != nil {
		return nil, err
	}
	given, err := in.read()
	if err != nil {
		return nil, err
	}
	id, err := versionID(in.ClientRequestToken)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkText("Description", in.Description, maxDescription), checkText("KmsKeyId", in.KMSKeyID, maxKeyID)); err != nil {
		return nil, err
	}
	updated, err := change(ctx, r, name, func(known *secret.Secret) (*secret.Secret, error) { return in.over(ctx, r, known, id, given) })
	if err != nil {
		return nil, err
	}
	out := &versionOutput{named: nameOf(r, updated)}
	if given != nil {
		out.VersionID = id
	}
	return out, nil
}

// over lays what is given over a secret.
func (in *updateInput) over(ctx context.Context, r *secrets.Request, known *secret.Secret, id string, given *value) (*secret.Secret, error) {
	changed := known.Clone()
	if in.Description != nil {
		changed.Description = *in.Description
	}
	if in.KMSKeyID != nil {
		changed.KeyID = *in.KMSKeyID
	}
	if given == nil {
		return changed, nil
	}
	return with(ctx, r, changed, id, given, []string{secret.Current})
}

func checkText(member string, given *string, most int) error {
	if given == nil {
		return nil
	}
	return secrets.CheckText(member, *given, most)
}
