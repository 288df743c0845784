// Package listing prints what a command lists: as a table, as JSON, by a template, or as ids alone, and of it only what filters let through.
package listing

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
)

// Item is an object of a list with its JSON, as the host has sent it.
type Item[T any] struct {
	Value T
	JSON  json.RawMessage
}

// UnmarshalJSON keeps the document beside the value, with the members that this client does not know.
func (i *Item[T]) UnmarshalJSON(document []byte) error {
	i.JSON = append(i.JSON[:0], document...)
	return json.Unmarshal(document, &i.Value)
}

// MarshalJSON gives the document back.
func (i Item[T]) MarshalJSON() ([]byte, error) { return i.JSON, nil }

// Items are values with their JSON.
func Items[T any](values []T) ([]Item[T], error) {
	items := make([]Item[T], len(values))
	for i, value := range values {
		document, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		items[i] = Item[T]{value, document}
	}
	return items, nil
}

// Bare are items without their JSON, for a command line that uses none.
func Bare[T any](values []T) []Item[T] {
	items := make([]Item[T], len(values))
	for i, value := range values {
		items[i].Value = value
	}
	return items
}

// UsesJSON reports whether a command line needs the JSON of what it lists: what it prints, or members to filter by.
func UsesJSON(c *cli.Context, inv *invocation.Invocation) bool {
	return inv.Output == invocation.JSON || c.String("format") != "" || len(c.StringSlice("filter")) > 0
}

// List is what a command lists.
type List[T any] struct {
	Members []string // that the JSON of an item may have beside those of T, for --format
	Items   []Item[T]
	ID      func(T) string                        // of an item, for -q and --filter id=; nil: items have no ids
	Fields  map[string]func(T) []string           // keys of filters beside the columns and the members of the JSON, such as name
	Table   func(items []T) (*table.Table, error) // has a row for each item, in their order
}

// Flags are the flags of every command that lists.
func Flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "filter", Usage: "only what has this `KEY=VALUE`, of a column or a member of the JSON; * stands for any text, != for what has not; may be repeated"},
		&cli.StringFlag{Name: "format", Usage: "print each object by a Go `TEMPLATE` over its JSON ({{.lastStatus}}) and the columns of the table ({{.STATUS}}), with the functions id, time, json, join, lower, upper; \"table TEMPLATE\" in columns, or \"json\", one a line"},
	}
}

// Action is the action of a command that lists: it prints what read returns, with --watch again and again.
func Action[T any](system invocation.System, read func(context.Context, *cli.Context, *invocation.Invocation) (List[T], error)) cli.ActionFunc {
	return func(c *cli.Context) error {
		inv, err := system.Invoke(c)
		if err != nil {
			return err
		}
		return inv.List(c, func(ctx context.Context, inv *invocation.Invocation) error {
			list, err := read(ctx, c, inv)
			if err != nil {
				return err
			}
			return list.Print(c, inv)
		})
	}
}

// Print prints the list in the form that the flags ask for.
func (l List[T]) Print(c *cli.Context, inv *invocation.Invocation) error {
	text := c.String("format")
	if text != "" && inv.Output == invocation.JSON {
		return exit.Usagef("give --format or -o json, one of the two")
	}
	template, err := Parse(text, inv.UTC)
	if err != nil {
		return err
	}
	var others string
	if l.Items, others, err = l.filtered(c.StringSlice("filter")); err != nil {
		return err
	}
	switch {
	case c.Bool("quiet"):
		ids := make([]string, len(l.Items))
		for i, item := range l.Items {
			ids[i] = l.ID(item.Value)
		}
		return inv.PrintLines(ids)
	case text != "":
		return l.printFormatted(inv, template)
	case inv.Output == invocation.JSON:
		return inv.PrintJSON(append([]Item[T]{}, l.Items...)) // none is [], not null
	}
	t, err := l.Table(l.Values())
	if err != nil {
		return err
	}
	if len(c.StringSlice("filter")) > 0 {
		if t.Empty = "nothing matches the filter"; others != "" {
			t.Empty += ": " + others
		}
	}
	return inv.PrintTable(t)
}

// Values are the values of the items.
func (l List[T]) Values() []T {
	values := make([]T, len(l.Items))
	for i, item := range l.Items {
		values[i] = item.Value
	}
	return values
}

func (l List[T]) printFormatted(inv *invocation.Invocation, template *Template) error {
	documents := make([]json.RawMessage, len(l.Items))
	for i, item := range l.Items {
		documents[i] = item.JSON
	}
	if err := template.checkMembers(slices.Concat(l.Members, MembersOf[T]()), documents); err != nil {
		return err
	}
	if len(template.cells) == 0 {
		return template.Print(inv, documents, nil)
	}
	rows, err := l.Table(l.Values())
	if err != nil {
		return err
	}
	return template.Print(inv, documents, rows)
}
