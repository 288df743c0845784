package ssm

import (
	"context"
	"errors"
	"slices"

	"pinion/api/ecs/call"
	"pinion/api/ecs/tags"
	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
)

// Types of parameters.
const (
	plainString  = "String"
	stringList   = "StringList"
	secureString = "SecureString"
)

// AWS's bounds of what is beside the value.
const (
	maxDescription = 1024
	maxKeyID       = 256
)

type putInput struct {
	Name           string        `json:"Name"`
	Value          string        `json:"Value"`
	Type           string        `json:"Type"`
	Description    *string       `json:"Description"`
	KeyID          *string       `json:"KeyId"`
	Overwrite      bool          `json:"Overwrite"`
	AllowedPattern *string       `json:"AllowedPattern"`
	Tags           []secrets.Tag `json:"Tags"`
	Tier           string        `json:"Tier"`
	Policies       string        `json:"Policies"`
	DataType       string        `json:"DataType"`
}

type putOutput struct {
	Version int64  `json:"Version"`
	Tier    string `json:"Tier"`
}

// maxAttempts bounds how often one that is created and deleted by others meanwhile is put.
const maxAttempts = 3

// putParameter creates a parameter, or, with Overwrite, adds a version to one.
func putParameter(ctx context.Context, r *secrets.Request, in *putInput) (*putOutput, error) {
	name, err := parseWhole(in.Name)
	if err == nil {
		err = in.check(name)
	}
	if err != nil {
		return nil, err
	}
	for range maxAttempts {
		put, err := in.put(ctx, r, name)
		switch {
		case err == nil:
			return &putOutput{Version: newest(put).Number, Tier: put.Parameter.Tier}, nil
		case !errors.Is(err, spec.ErrInUse):
			return nil, err
		}
		if err := r.Renew(ctx); err != nil { // another one has created it since, or deleted it
			return nil, err
		}
	}
	return nil, wire.Errorf(alreadyExists, "The parameter already exists, for clusters or teams that your key is not for. Use another name.")
}

// put puts the parameter once. spec.ErrInUse when there is one that the caller does not know of.
func (in *putInput) put(ctx context.Context, r *secrets.Request, name string) (*secret.Secret, error) {
	if r.Find(store, name) == nil {
		return in.create(ctx, r, name)
	}
	if !in.Overwrite {
		return nil, wire.Errorf(alreadyExists, "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.")
	}
	return r.Change(ctx, store, name, spec.ErrInUse, func(known *secret.Secret) (*secret.Secret, error) {
		changed := known.Clone()
		if err := in.over(changed); err != nil {
			return nil, err
		}
		return r.With(ctx, changed, secret.Version{Number: newest(known).Number + 1}, in.Value)
	})
}

func (in *putInput) create(ctx context.Context, r *secrets.Request, name string) (*secret.Secret, error) {
	fresh := secret.Secret{Store: store, Name: name, Tags: secrets.FromTags(in.Tags)}
	if err := in.over(&fresh); err != nil {
		return nil, err
	}
	return r.Create(ctx, fresh, &secret.Version{Number: 1}, in.Value)
}

// check checks what can be checked without the parameter that there may be.
func (in *putInput) check(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := secrets.CheckValue("Value", in.Value, "Encode it, as base64 for example."); err != nil {
		return err
	}
	if err := errors.Join(checkText("Description", in.Description, maxDescription), checkText("KeyId", in.KeyID, maxKeyID)); err != nil {
		return err
	}
	switch {
	case in.Type != "" && !slices.Contains([]string{plainString, stringList, secureString}, in.Type):
		return errInvalid("Type must be %s, %s or %s, not %.100q.", plainString, stringList, secureString, in.Type)
	case in.Tier != "" && !slices.Contains([]string{standard, advanced, intelligent}, in.Tier):
		return errInvalid("Tier must be %s, %s or %s, not %.100q.", standard, advanced, intelligent, in.Tier)
	case in.DataType != "" && in.DataType != dataText:
		return errInvalid("DataType %.100q is not supported by Pinion: a pool has no machine images and no integrations to check a value against. Use %s.", in.DataType, dataText)
	case !slices.Contains([]string{"", "[]", "{}"}, in.Policies):
		return errInvalid("Policies are not supported by Pinion: nothing expires a parameter, or tells of one that expires or does not change. Remove the member.")
	case in.Overwrite && len(in.Tags) > 0:
		return errInvalid("Invalid request: tags and overwrite can't be used together. To create a parameter with tags, please remove overwrite flag. To update tags for an existing parameter, please use AddTagsToResource or RemoveTagsFromResource.")
	}
	return call.WithType(invalid, tags.Check(secrets.FromTags(in.Tags)))
}

func checkText(member string, given *string, most int) error {
	if given == nil {
		return nil
	}
	return secrets.CheckText(member, *given, most)
}

// dataText is the one data type.
const dataText = "text"

// over lays what is given over a parameter, a new one or one that there is. What is absent stays.
func (in *putInput) over(s *secret.Secret) error {
	p := &s.Parameter
	if in.Type != "" {
		p.Type = in.Type
	}
	if p.Type == "" {
		return errInvalid("A parameter type is required when you create a parameter.")
	}
	if p.DataType = dataText; in.Description != nil {
		s.Description = *in.Description
	}
	if err := in.setKey(s); err != nil {
		return err
	}
	if in.AllowedPattern != nil {
		p.AllowedPattern = *in.AllowedPattern
	}
	tier, err := tierOf(p.Tier, in.Tier, len(in.Value))
	if err != nil {
		return err
	}
	p.Tier = tier
	return checkPattern(p.AllowedPattern, in.Value)
}

// setKey sets the key of a SecureString; others have none.
func (in *putInput) setKey(s *secret.Secret) error {
	given := in.KeyID != nil && *in.KeyID != ""
	switch {
	case s.Parameter.Type != secureString && given:
		return errInvalid("KeyId is required for SecureString type parameter only.")
	case s.Parameter.Type != secureString:
		s.KeyID = ""
	case given:
		s.KeyID = *in.KeyID
	}
	return nil
}
