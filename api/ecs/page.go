package ecs

import (
	"encoding/base64"
	"iter"
	"slices"
	"sort"
	"strings"

	"pinion/api/wire"
)

// maxPage is ECS's limit of names in one answer, and the default.
const maxPage = 100

// paging are the members that every List operation has.
type paging struct {
	MaxResults *int   `json:"maxResults"`
	NextToken  string `json:"nextToken"`
}

// withLimit is the paging of an operation whose limit, which is the default too, is less than maxPage.
func (p paging) withLimit(most int) (paging, error) {
	if p.MaxResults == nil {
		p.MaxResults = &most
	}
	if *p.MaxResults < 1 || *p.MaxResults > most {
		return p, wire.Errorf(wire.InvalidParameter, "maxResults must be between 1 and %d, not %d", most, *p.MaxResults)
	}
	return p, nil
}

// paginate cuts the page that was asked for out of items, which are in the order of their keys (or the other way round
// when descending). The token for the next page is empty on the last one. A token names the last key that was
// seen, so paging goes on at the right place whatever came or went in between.
func paginate[T any](p paging, items []T, descending bool, key func(T) string) (page []T, next string, err error) {
	return paginateFrom(p, func(seen string) iter.Seq[T] {
		start := 0
		if p.NextToken != "" {
			start = sort.Search(len(items), func(i int) bool { return isAfter(key(items[i]), seen, descending) })
		}
		return slices.Values(items[start:])
	}, key)
}

// paginateFrom is pageOf for items that need not be listed first: from visits those that come after what was seen, all when
// that is empty.
func paginateFrom[T any](p paging, from func(seen string) iter.Seq[T], key func(T) string) (page []T, next string, err error) {
	size := maxPage
	if p.MaxResults != nil {
		size = *p.MaxResults
	}
	if size < 1 || size > maxPage {
		return nil, "", wire.Errorf(wire.InvalidParameter, "maxResults must be between 1 and %d, not %d", maxPage, size)
	}
	seen := ""
	if p.NextToken != "" {
		if seen, err = decodeToken(p.NextToken); err != nil {
			return nil, "", err
		}
	}
	page = []T{} // shown as it is, also when it is empty
	for item := range from(seen) {
		if len(page) == size {
			return page, encodeToken(key(page[size-1])), nil
		}
		page = append(page, item)
	}
	return page, "", nil
}

func isAfter(key, seen string, descending bool) bool {
	if descending {
		return key < seen
	}
	return key > seen
}

const tokenPrefix = "pinion1:"

func encodeToken(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + key))
}

func decodeToken(token string) (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	key, ok := strings.CutPrefix(string(text), tokenPrefix)
	if err != nil || !ok {
		return "", wire.Errorf(wire.InvalidParameter, "nextToken is not one that this operation gave out")
	}
	return key, nil
}
