package cloudwatchlogs

import (
	"encoding/base64"
	"slices"

	"pinion/api/wire"
)

// maxListed is the most, and the usual number, of groups or streams in one answer.
const maxListed = 50

// paging are the members that every list has.
type paging struct {
	Limit     *int   `json:"limit"`
	NextToken string `json:"nextToken"`
}

// paginate returns one page of items, which are sorted by key, ascending or descending. A token names the last key of a page, so
// paging continues at the right place whatever was added or removed.
func paginate[T any](p paging, items []T, descending bool, key func(T) string) (page []T, next string, err error) {
	size, err := parseLimit(p.Limit, maxListed)
	if err != nil {
		return nil, "", err
	}
	start := 0
	if p.NextToken != "" {
		seen, err := base64.RawURLEncoding.DecodeString(p.NextToken)
		if err != nil {
			return nil, "", errInvalidNextToken()
		}
		start = slices.IndexFunc(items, func(item T) bool {
			at := key(item)
			return at > string(seen) && !descending || at < string(seen) && descending
		})
		if start < 0 {
			start = len(items)
		}
	}
	end := min(start+size, len(items))
	if end < len(items) {
		next = base64.RawURLEncoding.EncodeToString([]byte(key(items[end-1])))
	}
	return items[start:end], next, nil
}

// parseLimit returns the limit of a request, from 1 to maxLimit; maxLimit by default.
func parseLimit(limit *int, maxLimit int) (int, error) {
	if limit == nil {
		return maxLimit, nil
	}
	if *limit < 1 || *limit > maxLimit {
		return 0, wire.Errorf(wire.InvalidParameter, "limit must be between 1 and %d, not %d.", maxLimit, *limit)
	}
	return *limit, nil
}
