package ssm

import (
	"context"

	"pinion/api/secrets"
)

type nameInput struct {
	Name string `json:"Name"`
}

func deleteParameter(ctx context.Context, r *secrets.Request, in *nameInput) (*emptyOutput, error) {
	name, err := parseWhole(in.Name)
	if err != nil {
		return nil, err
	}
	return &emptyOutput{}, r.Delete(ctx, store, name, errNone(name))
}

type namesInput struct {
	Names []string `json:"Names"`
}

type deletedOutput struct {
	DeletedParameters []string `json:"DeletedParameters"`
	InvalidParameters []string `json:"InvalidParameters"`
}

// deleteParameters deletes those that there are. When the caller may not delete one of them, it deletes none.
func deleteParameters(ctx context.Context, r *secrets.Request, in *namesInput) (*deletedOutput, error) {
	if err := checkNames(in.Names); err != nil {
		return nil, err
	}
	for _, given := range in.Names {
		name, err := parseWhole(given)
		if err != nil {
			continue
		}
		if found := r.Find(store, name); found != nil {
			if err := r.RequireOwner(found); err != nil {
				return nil, err
			}
		}
	}
	out := &deletedOutput{DeletedParameters: []string{}, InvalidParameters: []string{}}
	for _, given := range in.Names {
		_, err := deleteParameter(ctx, r, &nameInput{given})
		switch {
		case err == nil:
			out.DeletedParameters = append(out.DeletedParameters, given)
		case isType(err, notFound, invalid):
			out.InvalidParameters = append(out.InvalidParameters, given)
		default:
			return nil, err
		}
	}
	return out, nil
}
