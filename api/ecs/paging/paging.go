// Package paging cuts the lists of answers into pages.
package paging

import (
	"encoding/base64"
	"iter"
	"slices"
	"sort"
	"strings"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
)

// Max is ECS's limit of names in one answer, and the default.
const Max = 100

// WithLimit is the paging of an operation whose limit, which is the default too, is less than Max.
func WithLimit(p types.Paging, most int) (types.Paging, error) {
	if p.MaxResults == nil {
		p.MaxResults = &most
	}
	if *p.MaxResults < 1 || *p.MaxResults > most {
		return p, field.Errorf("maxResults", "maxResults must be between 1 and %d, not %d", most, *p.MaxResults)
	}
	return p, nil
}

// WithDefault is the paging of an operation that lists fewer than Max where a request names no number.
func WithDefault(p types.Paging, number int) types.Paging {
	if p.MaxResults == nil {
		p.MaxResults = &number
	}
	return p
}

// Cut cuts a page out of items, which are in the order of their keys (or the other way round when descending). The token for
// the next page is empty on the last one. A token names the last key of a page, so paging goes on at the right place whatever
// was added or removed in between.
func Cut[T any](p types.Paging, items []T, descending bool, key func(T) string) (page []T, next string, err error) {
	return CutFrom(p, func(last string) iter.Seq[T] {
		start := 0
		if p.NextToken != "" {
			start = sort.Search(len(items), func(i int) bool { return isAfter(key(items[i]), last, descending) })
		}
		return slices.Values(items[start:])
	}, All, key)
}

// MaxVisited is how many items are looked at for a page, that match or not. A page may so have fewer than were asked for, or none, and a token: clients of AWS
// go on while there is one.
const MaxVisited = 5_000

// CutFrom is Cut for items that need not be listed first: from visits those after a key, all when it is empty. Of these the page has those that match.
func CutFrom[T any](p types.Paging, from func(last string) iter.Seq[T], matches func(T) bool, key func(T) string) (page []T, next string, err error) {
	size := Max
	if p.MaxResults != nil {
		size = *p.MaxResults
	}
	if size < 1 || size > Max {
		return nil, "", field.Errorf("maxResults", "maxResults must be between 1 and %d, not %d", Max, size)
	}
	last := ""
	if p.NextToken != "" {
		if last, err = decodeNextToken(p.NextToken); err != nil {
			return nil, "", err
		}
	}
	page = []T{} // shown as it is, also when it is empty
	visited := 0
	for item := range from(last) {
		if visited == MaxVisited {
			return page, encodeNextToken(last), nil
		}
		if visited++; matches(item) {
			if len(page) == size {
				return page, encodeNextToken(key(page[size-1])), nil
			}
			page = append(page, item)
		}
		last = key(item)
	}
	return page, "", nil
}

// All has every item match.
func All[T any](T) bool { return true }

func isAfter(key, last string, descending bool) bool {
	if descending {
		return key < last
	}
	return key > last
}

const nextTokenPrefix = "pinion1:"

func encodeNextToken(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(nextTokenPrefix + key))
}

func decodeNextToken(token string) (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	key, ok := strings.CutPrefix(string(text), nextTokenPrefix)
	if err != nil || !ok {
		return "", field.Errorf("nextToken", "nextToken is not one that this operation gave out")
	}
	return key, nil
}
