package secretsmanager

import (
	"context"
	"slices"

	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
)

type stageInput struct {
	SecretID            string `json:"SecretId"`
	VersionStage        string `json:"VersionStage"`
	RemoveFromVersionID string `json:"RemoveFromVersionId"`
	MoveToVersionID     string `json:"MoveToVersionId"`
}

// updateSecretVersionStage moves a stage to a version, or takes it from one.
func updateSecretVersionStage(ctx context.Context, r *secrets.Request, in *stageInput) (*named, error) {
	name, err := parse(in.SecretID)
	if err != nil {
		return nil, err
	}
	if err := checkStage("VersionStage", in.VersionStage); err != nil {
		return nil, err
	}
	if in.RemoveFromVersionID == "" && in.MoveToVersionID == "" {
		return nil, errInvalid("MoveToVersionId or RemoveFromVersionId must be given: the version that gets the stage, and the one that loses it.")
	}
	if in.MoveToVersionID == "" && in.VersionStage == secret.Current {
		return nil, errInvalid("You can only move staging label %s to a different secret version. It can't be completely removed.", secret.Current)
	}
	updated, err := change(ctx, r, name, in.move)
	if err != nil {
		return nil, err
	}
	out := nameOf(r, updated)
	return &out, nil
}

// move is the secret with its stage moved.
func (in *stageInput) move(known *secret.Secret) (*secret.Secret, error) {
	for _, id := range []string{in.MoveToVersionID, in.RemoveFromVersionID} {
		if id != "" && byID(known, id) == nil {
			return nil, errNoVersion(id)
		}
	}
	has := ""
	if holder := known.Staged(in.VersionStage); holder != nil {
		has = holder.ID
	}
	switch {
	case has == in.MoveToVersionID && has != "":
		return known, nil
	case in.RemoveFromVersionID == "" && has != "":
		return nil, errInvalid("The parameter RemoveFromVersionId can't be empty. Staging label %s is currently attached to version %s, so you must explicitly reference that version in RemoveFromVersionId.", in.VersionStage, has)
	case in.RemoveFromVersionID != has:
		return nil, errInvalid("The staging label %s is not attached to version %s, which RemoveFromVersionId names.", in.VersionStage, in.RemoveFromVersionID)
	}
	changed := known.Clone()
	changed.MoveStage(in.VersionStage, in.MoveToVersionID, 0)
	if to := byID(changed, in.MoveToVersionID); to != nil && len(to.Stages) > maxStages {
		return nil, wire.Errorf(limitExceeded, "A version can have at most %d stages: remove one first.", maxStages)
	}
	return changed, nil
}

func errNoVersion(id string) error {
	return wire.Errorf(notFound, "Secrets Manager can't find the specified secret value for VersionId: %.64s", id)
}

func errNoStage(stage string) error {
	return wire.Errorf(notFound, "Secrets Manager can't find the specified secret value for staging label: %.256s", stage)
}

// version is the version with an id, with a stage, or with both; the current one when neither is given.
func version(s *secret.Secret, id, stage string) (*secret.Version, error) {
	if id == "" {
		if stage == "" {
			stage = secret.Current
		}
		if found := s.Staged(stage); found != nil {
			return found, nil
		}
		return nil, errNoStage(stage)
	}
	found := byID(s, id)
	if found == nil {
		return nil, errNoVersion(id)
	}
	if stage != "" && !slices.Contains(found.Stages, stage) {
		return nil, wire.Errorf(invalidRequest, "You provided a VersionStage that is not associated to the provided VersionId.")
	}
	return found, nil
}
