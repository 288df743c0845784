package secrets

import (
	"encoding/base64"
	"errors"
	"sort"

	"pinion/api/wire"
)

// Paging are the members that every list has.
type Paging struct {
	MaxResults *int   `json:"MaxResults"`
	NextToken  string `json:"NextToken"`
}

// ErrNextToken refuses a token that no list gave out.
var ErrNextToken = errors.New("NextToken is not one that this operation gave out: begin without one")

// Order is how a list is sorted.
type Order[T any] struct {
	Key        func(T) string // of an item; no two have the same
	Descending bool
}

// comesAfter reports whether an item comes after the one with the key.
func (o Order[T]) comesAfter(item T, key string) bool {
	if o.Descending {
		return o.Key(item) < key
	}
	return o.Key(item) > key
}

// Page is one page of a list in an order, of most items unless the input asks for fewer. A token names the last key of a page, so paging continues at
// the right place whatever was added or removed.
func Page[T any](p Paging, items []T, most int, order Order[T]) (page []T, next string, err error) {
	size := most
	if p.MaxResults != nil {
		if size = *p.MaxResults; size < 1 || size > most {
			return nil, "", wire.Errorf(wire.Client, "MaxResults must be 1 to %d, not %d.", most, size)
		}
	}
	if p.NextToken != "" {
		seen, err := base64.RawURLEncoding.DecodeString(p.NextToken)
		if err != nil {
			return nil, "", ErrNextToken
		}
		items = items[sort.Search(len(items), func(i int) bool { return order.comesAfter(items[i], string(seen)) }):]
	}
	if len(items) <= size {
		return items, "", nil
	}
	return items[:size], base64.RawURLEncoding.EncodeToString([]byte(order.Key(items[size-1]))), nil
}
