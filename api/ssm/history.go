package ssm

import (
	"context"
	"fmt"

	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
)

type historyInput struct {
	Name           string `json:"Name"`
	WithDecryption bool   `json:"WithDecryption"`
	secrets.Paging
}

// parameterHistory is one version of a parameter. The state keeps what is beside the value once for all versions, so that is what it is now.
type parameterHistory struct {
	metadata
	Value  string   `json:"Value"`
	Labels []string `json:"Labels"`
}

type historyOutput struct {
	Parameters []parameterHistory `json:"Parameters"`
	NextToken  string             `json:"NextToken,omitempty"`
}

// maxHistory is AWS's most versions of one page.
const maxHistory = 50

// byNumber sorts versions of a parameter, the oldest first.
var byNumber = secrets.Order[secret.Version]{Key: func(v secret.Version) string { return fmt.Sprintf("%019d", v.Number) }}

func getParameterHistory(ctx context.Context, r *secrets.Request, in *historyInput) (*historyOutput, error) {
	name, err := parseWhole(in.Name)
	if err != nil {
		return nil, err
	}
	found, err := find(r, name)
	if err != nil {
		return nil, err
	}
	page, next, err := secrets.Page(in.Paging, found.Versions, maxHistory, byNumber)
	if err != nil {
		return nil, err
	}
	out := &historyOutput{Parameters: []parameterHistory{}, NextToken: next}
	for i := range page {
		version := &page[i]
		value, err := valueOf(ctx, r, found, version, in.WithDecryption)
		if err != nil {
			return nil, err
		}
		shown := parameterHistory{metadata: metadataOf(r, found, version), Value: value, Labels: append([]string{}, version.Stages...)}
		shown.ARN = "" // of the parameter, not of its versions
		out.Parameters = append(out.Parameters, shown)
	}
	return out, nil
}

// metadata is what is told of a parameter beside its value.
type metadata struct {
	Name             string     `json:"Name"`
	ARN              string     `json:"ARN,omitempty"`
	Type             string     `json:"Type"`
	KeyID            string     `json:"KeyId,omitempty"`
	LastModifiedDate wire.Time  `json:"LastModifiedDate"`
	LastModifiedUser string     `json:"LastModifiedUser,omitempty"`
	Description      string     `json:"Description,omitempty"`
	AllowedPattern   string     `json:"AllowedPattern,omitempty"`
	Version          int64      `json:"Version"`
	Tier             string     `json:"Tier"`
	Policies         []struct{} `json:"Policies"` // none
	DataType         string     `json:"DataType"`
}

func metadataOf(r *secrets.Request, s *secret.Secret, v *secret.Version) metadata {
	return metadata{
		Name: s.Name, ARN: s.ARN(r.Principal.Region), Type: s.Parameter.Type, KeyID: keyOf(s), LastModifiedDate: wire.NewTime(v.CreatedAt), LastModifiedUser: v.By,
		Description: s.Description, AllowedPattern: s.Parameter.AllowedPattern, Version: v.Number, Tier: s.Parameter.Tier, Policies: []struct{}{}, DataType: s.Parameter.DataType,
	}
}

// defaultKey is what AWS shows of a SecureString that was given no key.
const defaultKey = "alias/aws/ssm"

// keyOf is the key that a parameter shows: of a SecureString only.
func keyOf(s *secret.Secret) string {
	if s.Parameter.Type == secureString && s.KeyID == "" {
		return defaultKey
	}
	return s.KeyID
}
