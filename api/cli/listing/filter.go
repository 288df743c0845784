package listing

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/table"
	"pinion/raftfsm/lazyregexp"
)

// filter is a condition on the items of a list.
type filter struct {
	key   string
	not   bool
	value *regexp.Regexp
}

var filterForm = lazyregexp.New(`^([^=!]+)(!?=)(.*)$`)

// errUnknownKey is wrapped by the error for a key that no item has anything for.
var errUnknownKey = errors.New("there is no such column, and no object has such a member")

func parseFilter(text string) (filter, error) {
	parts := filterForm.FindStringSubmatch(text)
	if parts == nil {
		return filter{}, exit.Usagef("--filter %q: it is KEY=VALUE or KEY!=VALUE", text)
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(parts[3]), `\*`, ".*")
	return filter{key: parts[1], not: parts[2] == "!=", value: regexp.MustCompile(`(?is)^` + pattern + `$`)}, nil
}

// filtered are the items that meet the filters: one of those with the same key, and all keys.
// has is what there is instead, where nothing does.
func (l List[T]) filtered(texts []string) (kept []Item[T], has string, err error) {
	if len(texts) == 0 {
		return l.Items, "", nil
	}
	t, err := l.Table(l.Values())
	if err != nil {
		return nil, "", err
	}
	kept = slices.Clone(l.Items)
	byKey := map[string][]filter{}
	for _, text := range texts {
		f, err := parseFilter(text)
		if err != nil {
			return nil, "", err
		}
		byKey[f.key] = append(byKey[f.key], f)
	}
	met := make([]bool, len(l.Items))
	for i := range met {
		met[i] = true
	}
	var others []string
	for key, filters := range byKey {
		found, err := l.fields(key, t)
		if err != nil {
			return nil, "", err
		}
		if words := distinct(found); len(words) > 0 {
			others = append(others, fmt.Sprintf("there is %s %s", key, format.List(words)))
		}
		for i := range l.Items {
			met[i] = met[i] && anyMeets(filters, found[i])
		}
	}
	at := -1
	kept = slices.DeleteFunc(kept, func(Item[T]) bool { at++; return !met[at] })
	if len(kept) == 0 {
		has = strings.Join(others, "; ")
	}
	return kept, has, nil
}

// Matching are the items that meet the filters; none where no item has anything for a key.
func (l List[T]) Matching(filters []string) ([]Item[T], error) {
	kept, _, err := l.filtered(filters)
	if errors.Is(err, errUnknownKey) {
		return nil, nil
	}
	return kept, err
}

// distinct are the values that are not empty, each once, in order.
func distinct(values [][]string) []string {
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(values...))))
	return slices.DeleteFunc(all, func(value string) bool { return value == "" })
}

// anyMeets reports whether one of some filters of a key is met. Those with != have all to be met: each forbids a value.
func anyMeets(filters []filter, values []string) bool {
	equal, wanted := false, false
	for _, f := range filters {
		has := slices.ContainsFunc(values, f.value.MatchString)
		if f.not && has {
			return false
		}
		wanted, equal = wanted || !f.not, equal || !f.not && has
	}
	return equal || !wanted
}

// fields are the values of a key in every item: the id, those of a column, or those of a member of the JSON.
func (l List[T]) fields(key string, t *table.Table) ([][]string, error) {
	column, known := -1, len(l.Items) == 0
	var columns []string
	for i, header := range t.Header {
		columns = append(columns, columnKey(header))
		if columnKey(header) == columnKey(strings.ReplaceAll(key, "_", "-")) { // as --format names it, too
			column, known = i, true
		}
	}
	values := make([][]string, len(l.Items))
	for i, item := range l.Items {
		switch {
		case key == "id" && l.ID != nil:
			id := l.ID(item.Value)
			values[i], known = []string{id, format.ID(id)}, true
		case l.Fields[key] != nil:
			values[i], known = l.Fields[key](item.Value), true
		case column >= 0:
			values[i] = []string{t.Cell(i, column)}
		default:
			var document any
			if err := json.Unmarshal(item.JSON, &document); err != nil {
				return nil, err
			}
			found, has := member(document, strings.Split(key, "."))
			values[i], known = found, known || has
		}
	}
	if !known {
		return nil, exit.Usagef("--filter %s: %w. The columns are %s; -o json shows the members", key, errUnknownKey, strings.Join(columns, ", "))
	}
	return values, nil
}

// columnKey is the header of a column as a key: "exit-reason".
func columnKey(header string) string {
	return strings.NewReplacer(" ", "-", "/", "-").Replace(strings.ToLower(header))
}

// member is the values at a path in a document, several where it leads through a list; an absent one is the empty text.
func member(document any, path []string) (values []string, has bool) {
	switch document := document.(type) {
	case []any:
		for _, element := range document {
			found, inside := member(element, path)
			values, has = append(values, found...), has || inside
		}
		return values, has
	case map[string]any:
		if len(path) == 0 {
			return []string{""}, true
		}
		below, known := document[path[0]]
		if !known {
			return []string{""}, false
		}
		return member(below, path[1:])
	}
	if len(path) > 0 {
		return []string{""}, false
	}
	text, isText := document.(string)
	if !isText {
		encoded, _ := json.Marshal(document) // it has come from JSON
		text = cmp.Or(strings.TrimSuffix(string(encoded), "null"), "")
	}
	return []string{text}, true
}
