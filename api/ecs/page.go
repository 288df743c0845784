package ecs

import (
	"encoding/base64"
	"slices"
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

// pageOf cuts the page that was asked for out of items, which are in the order of their keys (or the other way round
// when descending). The token for the next page is empty on the last one. A token names the last key that was
// seen, so paging goes on at the right place whatever came or went in between.
func pageOf[T any](p paging, items []T, descending bool, key func(T) string) (page []T, next string, err error) {
	size := maxPage
	if p.MaxResults != nil {
		size = *p.MaxResults
	}
	if size < 1 || size > maxPage {
		return nil, "", wire.Errorf(wire.InvalidParameter, "maxResults must be between 1 and %d, not %d", maxPage, size)
	}
	start := 0
	if p.NextToken != "" {
		seen, err := readToken(p.NextToken)
		if err != nil {
			return nil, "", err
		}
		start = slices.IndexFunc(items, func(item T) bool { return after(key(item), seen, descending) })
		if start < 0 {
			start = len(items)
		}
	}
	end := min(start+size, len(items))
	if end < len(items) {
		next = writeToken(key(items[end-1]))
	}
	return items[start:end], next, nil
}

func after(key, seen string, descending bool) bool {
	if descending {
		return key < seen
	}
	return key > seen
}

const tokenMark = "pinion1:"

func writeToken(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenMark + key))
}

func readToken(token string) (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	key, ok := strings.CutPrefix(string(text), tokenMark)
	if err != nil || !ok {
		return "", wire.Errorf(wire.InvalidParameter, "nextToken is not one that this operation gave out")
	}
	return key, nil
}
