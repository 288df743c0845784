package secretsmanager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
)

// names are those of the secrets in an answer.
func names(answer string) string {
	var all []string
	for _, part := range strings.Split(answer, `"Name":"`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func newListed(t *testing.T) *fixture {
	f := newFixture(t)
	for _, more := range []string{
		`"Name":"prod/db","Description":"The Master password","Tags":[{"Key":"env","Value":"prod"}]`,
		`"Name":"prod/api","Tags":[{"Key":"env","Value":"production"},{"Key":"Team","Value":"vision"}]`,
		`"Name":"dev/db","Description":"password of nobody"`,
	} {
		f.Now = f.Now.Add(time.Second)
		f.must(t, "CreateSecret", `{`+more+`,"SecretString":"v"}`)
	}
	f.Now = f.Now.Add(time.Second)
	f.must(t, "UpdateSecret", `{"SecretId":"prod/db","KmsKeyId":"k"}`)
	return f
}

func TestListsAreSortedAndFiltered(t *testing.T) {
	f := newListed(t)
	for body, want := range map[string]string{
		`{}`:                             "prod/db prod/api dev/db",
		`{"SortOrder":"desc"}`:           "dev/db prod/api prod/db",
		`{"SortBy":"name"}`:              "dev/db prod/api prod/db",
		`{"SortBy":"last-changed-date"}`: "prod/api dev/db prod/db",
		`{"Filters":[{"Key":"name","Values":["prod/"]}]}`:                                                              "prod/db prod/api",
		`{"Filters":[{"Key":"name","Values":["db"]}]}`:                                                                 "",
		`{"Filters":[{"Key":"name","Values":["!prod/"]}]}`:                                                             "dev/db",
		`{"Filters":[{"Key":"description","Values":["MASTER pass"]}]}`:                                                 "prod/db",
		`{"Filters":[{"Key":"tag-key","Values":["en"]}]}`:                                                              "prod/db prod/api",
		`{"Filters":[{"Key":"tag-key","Values":["team"]}]}`:                                                            "",
		`{"Filters":[{"Key":"tag-value","Values":["vis"]}]}`:                                                           "prod/api",
		`{"Filters":[{"Key":"all","Values":["db"]}]}`:                                                                  "prod/db dev/db",
		`{"Filters":[{"Key":"all","Values":["VISION"]}]}`:                                                              "prod/api",
		`{"Filters":[{"Key":"all","Values":["/"]}]}`:                                                                   "",
		`{"Filters":[{"Key":"all","Values":["db"]},{"Key":"name","Values":["prod","staging"]}]}`:                       "prod/db",
		`{"Filters":[{"Key":"all","Values":["nobody"]},{"Key":"description","Values":["pass"]}]}`:                      "dev/db",
		`{"Filters":[{"Key":"all","Values":["` + strings.Repeat("d ", 32) + `","` + strings.Repeat("v ", 32) + `"]}]}`: "prod/db prod/api dev/db",
		`{"Filters":[{"Key":"name","Values":["` + strings.Repeat("p ", 33) + `"]}]}`:                                   "",
		`{"Filters":[{"Key":"owning-service","Values":["rds"]}]}`:                                                      "",
	} {
		if got := names(f.must(t, "ListSecrets", body)); got != want {
			t.Errorf("%s: %s", body, got)
		}
	}
}

func TestListsComeInPages(t *testing.T) {
	f := newListed(t)
	for _, order := range []string{``, `,"SortOrder":"desc"`, `,"SortBy":"name"`, `,"SortBy":"name","SortOrder":"desc"`} {
		whole := names(f.must(t, "ListSecrets", `{"MaxResults":100`+order+`}`))
		var parts []string
		for next := ""; len(parts) == 0 || next != ""; {
			got := f.must(t, "ListSecrets", `{"MaxResults":1,"NextToken":"`+next+`"`+order+`}`)
			parts = append(parts, names(got))
			_, rest, _ := strings.Cut(got, `"NextToken":"`)
			next, _, _ = strings.Cut(rest, `"`)
		}
		if got := strings.Join(parts, " "); got != whole || len(parts) != 3 {
			t.Errorf("%s: %s, in pages %s", order, whole, got)
		}
	}
	for n := range 4 {
		f.must(t, "PutSecretValue", input("SecretId", "dev/db", text(fmt.Sprint(n))))
	}
	first := f.must(t, "ListSecretVersionIds", `{"SecretId":"dev/db","IncludeDeprecated":true,"MaxResults":3}`)
	rest := f.must(t, "ListSecretVersionIds", `{"SecretId":"dev/db","IncludeDeprecated":true,"NextToken":"`+member(t, first, "NextToken")+`"}`)
	if strings.Count(first, "VersionId\"") != 3 || strings.Count(rest, "VersionId\"") != 2 {
		t.Errorf("%s\n%s", first, rest)
	}
}

func TestSeveralValuesAreAnsweredAtOnce(t *testing.T) {
	f := newListed(t)
	f.must(t, "DeleteSecret", `{"SecretId":"dev/db"}`)
	f.mustAs(t, ofA, "CreateSecret", input("Name", "of-a", text("a")))
	for body, want := range map[string]string{
		`{"Filters":[{"Key":"name","Values":["prod"]}]}`:                  "prod/api prod/db",
		`{"Filters":[{"Key":"all","Values":["db"]}]}`:                     "prod/db",
		`{"SecretIdList":["prod/db","dev/db","none","arn:aws:x","of-a"]}`: "prod/db of-a",
	} {
		if got := f.must(t, "BatchGetSecretValue", body); names(got) != want {
			t.Errorf("%s: %s", body, got)
		}
	}
	got := f.must(t, "BatchGetSecretValue", `{"SecretIdList":["none","dev/db","arn:aws:x"]}`)
	for _, want := range []string{`"SecretValues":[]`, `{"SecretId":"none","ErrorCode":"ResourceNotFoundException"`, `{"SecretId":"dev/db","ErrorCode":"InvalidRequestException"`, `{"SecretId":"arn:aws:x","ErrorCode":"InvalidParameterException"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s has not %s", got, want)
		}
	}
	if got := f.mustAs(t, ofA, "BatchGetSecretValue", `{"Filters":[{"Key":"name","Values":["prod","of-a"]}]}`); names(got) != "of-a" || strings.Count(got, "AccessDeniedException") != 2 {
		t.Errorf("%s", got)
	}
	first := f.must(t, "BatchGetSecretValue", `{"Filters":[{"Key":"name","Values":["prod"]}],"MaxResults":1}`)
	if rest := f.must(t, "BatchGetSecretValue", `{"Filters":[{"Key":"name","Values":["prod"]}],"NextToken":"`+member(t, first, "NextToken")+`"}`); names(first) != "prod/api" || names(rest) != "prod/db" {
		t.Errorf("%s %s", first, rest)
	}
}

// Nobody waits for the answer any more: no further secret is looked at.
func TestAListEndsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	compared := 0
	stop := conditionList{{values: []wanted{{}}, compare: func(*subject, *wanted) bool {
		compared++
		cancel()
		return true
	}}}
	_, err := stop.choose(ctx, []*secret.Secret{{Name: "a"}, {Name: "b"}, {Name: "c"}}, false)
	if !errors.Is(err, context.Canceled) || compared != 1 {
		t.Errorf("%d secrets were looked at: %v", compared, err)
	}
}

func TestTheWordsOfASecretAreSplitOnce(t *testing.T) {
	s := &subject{Secret: &secret.Secret{Name: "prod/db", Description: "The password", Tags: []spec.Tag{{Key: "env", Value: "prod"}}}}
	first := s.words()
	if again := s.words(); &first[0] != &again[0] {
		t.Error("the words were split again")
	}
	if got := strings.Join(first, " "); got != "prod db the password env prod" {
		t.Error(got)
	}
}
