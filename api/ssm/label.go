package ssm

import (
	"context"
	"slices"

	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/secret"
)

// maxLabels is AWS's most labels of a version.
const maxLabels = 10

var labelText = lazyregexp.New(`^[a-zA-Z_.-][a-zA-Z0-9_.-]{0,99}$`)

var reservedLabel = lazyregexp.New(`^(?i)(aws|ssm)`)

type labelInput struct {
	Name             string   `json:"Name"`
	ParameterVersion *int64   `json:"ParameterVersion"`
	Labels           []string `json:"Labels"`
}

type labelOutput struct {
	InvalidLabels    []string `json:"InvalidLabels"`
	ParameterVersion int64    `json:"ParameterVersion"`
}

// labelParameterVersion gives labels to a version, the newest when none is named; other versions lose them.
func labelParameterVersion(ctx context.Context, r *secrets.Request, in *labelInput) (*labelOutput, error) {
	name, err := in.check()
	if err != nil {
		return nil, err
	}
	out := &labelOutput{InvalidLabels: []string{}}
	var valid []string
	for _, label := range in.Labels {
		if !labelText.MatchString(label) || reservedLabel.MatchString(label) {
			out.InvalidLabels = append(out.InvalidLabels, label)
			continue
		}
		valid = append(valid, label)
	}
	_, err = r.Change(ctx, store, name, errNone(name), func(known *secret.Secret) (*secret.Secret, error) {
		changed := known.Clone()
		version, err := numbered(changed, in.ParameterVersion)
		if err != nil {
			return nil, err
		}
		if out.ParameterVersion = version.Number; hasAll(version, valid) {
			return known, nil
		}
		for _, label := range valid {
			changed.MoveStage(label, version.ID, version.Number)
		}
		if len(version.Stages) > maxLabels {
			return nil, wire.Errorf(tooManyLabels, "A version of a parameter can have a maximum of %d labels. Move one to another version, or remove it.", maxLabels)
		}
		return changed, nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func hasAll(version *secret.Version, labels []string) bool {
	return !slices.ContainsFunc(labels, func(label string) bool { return !slices.Contains(version.Stages, label) })
}

func (in *labelInput) check() (name string, err error) {
	if len(in.Labels) == 0 || len(in.Labels) > maxLabels {
		return "", errInvalid("Labels must have 1 to %d items, not %d.", maxLabels, len(in.Labels))
	}
	return parseWhole(in.Name)
}

type unlabelOutput struct {
	RemovedLabels []string `json:"RemovedLabels"`
	InvalidLabels []string `json:"InvalidLabels"`
}

// unlabelParameterVersion takes labels from a version. Those that it has not are answered as InvalidLabels.
func unlabelParameterVersion(ctx context.Context, r *secrets.Request, in *labelInput) (*unlabelOutput, error) {
	name, err := in.check()
	if err != nil {
		return nil, err
	}
	if in.ParameterVersion == nil {
		return nil, errInvalid("ParameterVersion must be given: the version that loses the labels.")
	}
	var out *unlabelOutput
	_, err = r.Change(ctx, store, name, errNone(name), func(known *secret.Secret) (*secret.Secret, error) {
		out = &unlabelOutput{RemovedLabels: []string{}, InvalidLabels: []string{}}
		changed := known.Clone()
		version, err := numbered(changed, in.ParameterVersion)
		if err != nil {
			return nil, err
		}
		for _, label := range in.Labels {
			if !slices.Contains(version.Stages, label) {
				out.InvalidLabels = append(out.InvalidLabels, label)
				continue
			}
			changed.MoveStage(label, "", 0)
			out.RemovedLabels = append(out.RemovedLabels, label)
		}
		if len(out.RemovedLabels) == 0 {
			return known, nil
		}
		return changed, nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
