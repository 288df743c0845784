package ssm

import (
	"context"
	"slices"

	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
)

type describeInput struct {
	Filters          []filter         `json:"Filters"` // of earlier clients
	ParameterFilters []filter         `json:"ParameterFilters"`
	Shared           wire.Unsupported `json:"Shared" why:"a pool has no other accounts that could share parameters with it"`
	secrets.Paging
}

type describeOutput struct {
	Parameters []metadata `json:"Parameters"`
	NextToken  string     `json:"NextToken,omitempty"`
}

// maxDescribed is AWS's most parameters of one page.
const maxDescribed = 50

func describeParameters(_ context.Context, r *secrets.Request, in *describeInput) (*describeOutput, error) {
	if len(in.Filters) > 0 && len(in.ParameterFilters) > 0 {
		return nil, errInvalid("You can use either Filters or ParameterFilters in a single request.")
	}
	matches, err := compile(append(in.ParameterFilters, earlier(in.Filters)...))
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(r.All(store), func(s *secret.Secret) bool { return !matches(s) })
	page, next, err := secrets.Page(in.Paging, found, maxDescribed, byName)
	if err != nil {
		return nil, err
	}
	out := &describeOutput{Parameters: []metadata{}, NextToken: next}
	for _, s := range page {
		out.Parameters = append(out.Parameters, metadataOf(r, s, newest(s)))
	}
	return out, nil
}
