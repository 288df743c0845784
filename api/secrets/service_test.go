package secrets_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pinion/api/auth"
	"pinion/api/secrets"
	"pinion/api/secrets/secretstest"
	"pinion/api/wire"
)

func TestPagesGoOnWhereTheyEnded(t *testing.T) {
	order := secrets.Order[string]{Key: func(s string) string { return s }}
	for _, descending := range []bool{false, true} {
		order.Descending = descending
		all := []string{"a", "b", "c", "d", "e"}
		if descending {
			slices.Reverse(all)
		}
		two := 2
		page, next, err := secrets.Page(secrets.Paging{MaxResults: &two}, all, 10, order)
		if err != nil || len(page) != 2 {
			t.Fatal(page, err)
		}
		left := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == page[1] }) // the last that was seen goes
		rest, end, err := secrets.Page(secrets.Paging{NextToken: next}, left, 10, order)
		if err != nil || !slices.Equal(rest, all[2:]) || end != "" {
			t.Errorf("%v, %q, %v", rest, end, err)
		}
	}
	zero, many := 0, 11
	for what, paging := range map[string]secrets.Paging{"none": {MaxResults: &zero}, "too many": {MaxResults: &many}, "a token of nobody's": {NextToken: "%"}} {
		if _, _, err := secrets.Page(paging, []string{"a"}, 10, order); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestBodiesThatWouldBecomeAnotherValueAreRefused(t *testing.T) {
	type value struct {
		Value string `json:"Value"`
	}
	echo := secrets.NewService("Test", "Wrong", func(err error) error { return err }, secrets.Describe("Echo", auth.Unscoped, func(_ context.Context, _ *secrets.Request, in *value) (*value, error) { return in, nil }))
	o, err := echo.Find("Echo")
	if err != nil {
		t.Fatal(err)
	}
	p := secretstest.New(t)
	if got, err := p.Call(secretstest.Admin, o, `{"Value":"ä"}`); err != nil || got != `{"Value":"ä"}` {
		t.Error(got, err)
	}
	for _, body := range []string{"{\"Value\":\"\xff\"}", `{"Value":1}`, `{"Value":"a","Value":"b"}`, `{"Value":"a"} {}`, `[]`, `{`} {
		if got, err := p.Call(secretstest.Admin, o, body); err == nil || !strings.HasPrefix(err.Error(), wire.Serialization) {
			t.Errorf("%q: %s, %v", body, got, err)
		}
	}
}
