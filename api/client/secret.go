package client

import (
	"context"
	"encoding/json"
)

// Secret is a secret of the pool without its values, as Secrets Manager lists it.
type Secret struct {
	ARN         string    `json:"ARN"`
	Name        string    `json:"Name"`
	Description string    `json:"Description"`
	ChangedAt   Timestamp `json:"LastChangedDate"`
	DeletedAt   Timestamp `json:"DeletedDate"` // since when it is deleted, and can be restored; zero: it is not
	Tags        []Tag     `json:"Tags"`
	Clusters    []string  `json:"Clusters"` // whose tasks may use it; empty: all
	Teams       []string  `json:"Teams"`    // likewise
}

// SecretVersion is a version of a secret without its value.
type SecretVersion struct {
	ID        string    `json:"VersionId"`
	Stages    []string  `json:"VersionStages"` // AWSCURRENT is what tasks get that name no version
	CreatedAt Timestamp `json:"CreatedDate"`
}

// secretPage is the number of secrets or of versions that one request asks for.
const secretPage = 100

// Secrets lists the secrets that the caller may know of, as Secret or as another type that has their JSON: with deleted also those that can still
// be restored.
func Secrets[T any](ctx context.Context, c *Client, deleted bool) ([]T, error) {
	return secretPages[T](ctx, c, "ListSecrets", "SecretList", map[string]any{"MaxResults": secretPage, "IncludePlannedDeletion": deleted})
}

// SecretVersions lists the versions of a secret, named by its name or its ARN, as SecretVersion or as another type that has their JSON.
func SecretVersions[T any](ctx context.Context, c *Client, secret string) ([]T, error) {
	return secretPages[T](ctx, c, "ListSecretVersionIds", "Versions", map[string]any{"MaxResults": secretPage, "SecretId": secret, "IncludeDeprecated": true})
}

// secretPages reads all pages of a list, which is a member of each of them.
func secretPages[T any](ctx context.Context, c *Client, operation, member string, in map[string]any) (all []T, err error) {
	for {
		var page map[string]json.RawMessage
		if err := c.Call(ctx, operation, in, &page); err != nil {
			return nil, err
		}
		var some []T
		if err := decode(operation, page[member], &some); err != nil {
			return nil, err
		}
		all = append(all, some...)
		var next string
		if page["NextToken"] != nil {
			if err := decode(operation, page["NextToken"], &next); err != nil {
				return nil, err
			}
		}
		if next == "" {
			return all, nil
		}
		in["NextToken"] = next
	}
}
