package secretsmanager

import (
	"context"
	"errors"

	"pinion/api/ecs/call"
	"pinion/api/ecs/tags"
	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
)

type createInput struct {
	Name               string        `json:"Name"`
	ClientRequestToken string        `json:"ClientRequestToken"`
	Description        string        `json:"Description"`
	KMSKeyID           string        `json:"KmsKeyId"`
	Tags               []secrets.Tag `json:"Tags"`
	givenValue

	AddReplicaRegions           wire.Unsupported `json:"AddReplicaRegions" why:"every server of the pool has all of its secrets"`
	ForceOverwriteReplicaSecret wire.Unsupported `json:"ForceOverwriteReplicaSecret" why:"there are no replicas"`
	Type                        wire.Unsupported `json:"Type" why:"no partner manages secrets of a pool"`
}

type versionOutput struct {
	named
	VersionID string `json:"VersionId,omitempty"`
}

func createSecret(ctx context.Context, r *secrets.Request, in *createInput) (*versionOutput, error) {
	id, err := in.check()
	if err != nil {
		return nil, err
	}
	given, err := in.read()
	if err != nil {
		return nil, err
	}
	if known := r.Find(store, in.Name); known != nil {
		return in.again(ctx, r, known, id, given)
	}
	fresh := secret.Secret{Store: store, Name: in.Name, Suffix: newSuffix(), Description: in.Description, KeyID: in.KMSKeyID, Tags: secrets.FromTags(in.Tags)}
	var first *secret.Version
	text := ""
	if given != nil {
		first = &secret.Version{ID: id, Stages: []string{secret.Current}, Binary: given.binary}
		text = given.text
	}
	created, err := r.Create(ctx, fresh, first, text)
	if errors.Is(err, spec.ErrInUse) { // another one has created it since, or it is for other clusters or teams
		if err := r.Renew(ctx); err != nil {
			return nil, err
		}
		return in.again(ctx, r, r.Find(store, in.Name), id, given)
	}
	if err != nil {
		return nil, err
	}
	return in.output(r, created, id, given), nil
}

func (in *createInput) output(r *secrets.Request, s *secret.Secret, id string, given *value) *versionOutput {
	out := &versionOutput{named: nameOf(r, s)}
	if given != nil {
		out.VersionID = id
	}
	return out
}

// again answers the creation of a secret that there is already: a request that is repeated, with the same token and value, gets the previous answer.
func (in *createInput) again(ctx context.Context, r *secrets.Request, known *secret.Secret, id string, given *value) (*versionOutput, error) {
	switch {
	case known == nil:
		return nil, wire.Errorf(exists, "The operation failed because the secret %s already exists, for clusters or teams that your key is not for. Use another name.", in.Name)
	case secret.ReadOnly(known) != nil:
		return nil, wire.Errorf(invalidRequest, "You can't create this secret because a secret with this name is already scheduled for deletion. RestoreSecret brings it back; DeleteSecret with ForceDeleteWithoutRecovery ends it at once.")
	case given != nil && byID(known, id) != nil:
		if err := same(ctx, r, known, byID(known, id), given); err != nil {
			return nil, err
		}
		return in.output(r, known, id, given), nil
	}
	return nil, wire.Errorf(exists, "The operation failed because the secret %s already exists.", in.Name)
}

// check checks what is beside the value, and returns the id of the version.
func (in *createInput) check() (id string, err error) {
	if err := checkName(in.Name); err != nil {
		return "", err
	}
	if err := errors.Join(secrets.CheckText("Description", in.Description, maxDescription), secrets.CheckText("KmsKeyId", in.KMSKeyID, maxKeyID)); err != nil {
		return "", err
	}
	if err := call.WithType(invalid, tags.Check(secrets.FromTags(in.Tags))); err != nil {
		return "", err
	}
	return versionID(in.ClientRequestToken)
}
