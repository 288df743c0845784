package ssm

import (
	"fmt"
	"strings"
	"testing"

	"pinion/api/wire"
)

// refusal is a request, and how it is refused.
type refusal struct{ operation, body, kind, says string }

// refusedPuts are requests on a state that has the parameter p.
var refusedPuts = []refusal{
	{"PutParameter", put("p", "v"), alreadyExists, "overwrite option"},
	{"PutParameter", put("", "v"), invalid, "neither the name"},
	{"PutParameter", put("a b", "v"), invalid, "neither the name"},
	{"PutParameter", put("ä", "v"), invalid, "letters, numbers"},
	{"PutParameter", put("a\x00b", "v"), invalid, "neither the name"},
	{"PutParameter", put("a*", "v"), invalid, "letters, numbers"},
	{"PutParameter", put("a:1", "v"), invalid, "must not have a version"},
	{"PutParameter", put("aws-x", "v"), invalid, "prefixed"},
	{"PutParameter", put("/AWS/x", "v"), invalid, "prefixed"},
	{"PutParameter", put("SsmThing", "v"), invalid, "prefixed"},
	{"PutParameter", put("a/b", "v"), invalid, "fully qualified"},
	{"PutParameter", put("../a", "v"), invalid, "fully qualified"},
	{"PutParameter", put("/a/../b", "v"), invalid, "between slashes"},
	{"PutParameter", put("/..", "v"), invalid, "between slashes"},
	{"PutParameter", put(".", "v"), invalid, "between slashes"},
	{"PutParameter", put("/", "v"), invalid, "something between"},
	{"PutParameter", put("/a/", "v"), invalid, "something between"},
	{"PutParameter", put("/a//b", "v"), invalid, "something between"},
	{"PutParameter", put("/"+strings.Repeat("a/", 15)+"a", "v"), tooManyLevels, "15 levels"},
	{"PutParameter", put(strings.Repeat("x", 1012), "v"), invalid, "1011"},
	{"PutParameter", put(strings.Repeat("x", 3000), "v"), invalid, "neither the name"},
	{"PutParameter", put("arn:aws:secretsmanager:r:1:secret:x", "v"), invalid, "neither the name"},
	{"PutParameter", put("pinion:command:a:b", "v"), invalid, "neither the name"},
	{"PutParameter", put("q", ""), invalid, "must not be empty"},
	{"PutParameter", put("q", "a\x00b"), invalid, "NUL at byte 1"},
	{"PutParameter", put("q", strings.Repeat("v", 4097)), invalid, "4096 bytes"},
	{"PutParameter", put("q", strings.Repeat("v", 1<<20)), invalid, "4096 bytes"},
	{"PutParameter", put("q", strings.Repeat("ä", 2049)), invalid, "4096 bytes"},
	{"PutParameter", put("q", "v", `,"Policies":"[{\"Type\":\"Expiration\"}]"`), invalid, "Policies are not supported"},
	{"PutParameter", put("q", "v", `,"DataType":"aws:ec2:image"`), invalid, "machine images"},
	{"PutParameter", put("q", "v", `,"KeyId":"alias/x"`), invalid, "SecureString type parameter only"},
	{"PutParameter", put("q", "v", `,"Tier":"Gold"`), invalid, "Tier must be"},
	{"PutParameter", put("q", "v", `,"Description":"`+strings.Repeat("d", 1025)+`"`), invalid, "1024 bytes"},
	{"PutParameter", put("q", "v", `,"Description":"a\u0007"`), invalid, "control characters"},
	{"PutParameter", put("p", "v", `,"Overwrite":true,"Tags":[{"Key":"k","Value":"v"}]`), invalid, "tags and overwrite can't be used together"},
	{"PutParameter", put("q", "v", `,"Tags":[{"Key":"aws:x","Value":"v"}]`), invalid, "reserved"},
	{"PutParameter", put("q", "v", `,"Tags":[{"Key":"pinion.cluster","Value":"a"}]`), invalid, "is not known"},
	{"PutParameter", put("q", "v", `,"Tags":[{"Key":"pinion.clusters","Value":"none"}]`), invalid, "does not exist"},
	{"PutParameter", `{"Name":"q","Value":"v"}`, invalid, "type is required"},
	{"PutParameter", `{"Name":"q","Value":"v","Type":"Number"}`, invalid, "Type must be"},
	{"PutParameter", `{"Name":"q","Value":1,"Type":"String"}`, wire.Serialization, "must be a string"},
	{"PutParameter", `{"Name":"q","Type":"String"}`, invalid, "must not be empty"},
	{"PutParameter", put("q", "v", `,"AllowedPattern":"^\\d+$"`), patternMismatch, "does not match"},
	{"PutParameter", put("q", "v", `,"AllowedPattern":"(?=x)"`), invalidPattern, "RE2"},
	{"PutParameter", put("q", "v", `,"AllowedPattern":"("`), invalidPattern, "does not compile"},
	{"PutParameter", put("q", "v", `,"AllowedPattern":"`+strings.Repeat("x", 1025)+`"`), invalid, "1024 characters"},
	{"PutParameter", put("q", "v", `,"AllowedPattern":"`+strings.Repeat(".{1000}", 100)+`"`), invalidPattern, "too costly"},
	{"PutParameter", put("q", "v", `,"AllowedPattern":"(?i)`+strings.Repeat(`[B-\\x{1e942}]`, 60)+`"`), invalidPattern, "too costly"},
}

func describe(filters string) string { return `{"ParameterFilters":[` + filters + `]}` }

func tagsOf(kind, id, more string) string {
	return `{"ResourceType":"` + kind + `","ResourceId":"` + id + `"` + more + `}`
}

// refusedOthers are likewise.
var refusedOthers = []refusal{
	{"GetParameter", `{}`, invalid, "neither the name"},
	{"GetParameter", `{"Name":"none"}`, notFound, "none"},
	{"GetParameters", `{"Names":[]}`, invalid, "1 to 10"},
	{"GetParameters", `{"Names":["a","b","c","d","e","f","g","h","i","j","k"]}`, invalid, "1 to 10"},
	{"GetParametersByPath", `{}`, invalid, "begin with a slash"},
	{"GetParametersByPath", `{"Path":"a"}`, invalid, "begin with a slash"},
	{"GetParametersByPath", `{"Path":"/","MaxResults":11}`, invalid, "1 to 10"},
	{"GetParametersByPath", `{"Path":"/","NextToken":"%"}`, invalidNextToken, "NextToken"},
	{"GetParametersByPath", `{"Path":"/","ParameterFilters":[{"Key":"Name","Values":["x"]}]}`, invalidFilterKey, "Label"},
	{"GetParametersByPath", `{"Path":"/","ParameterFilters":[{"Key":"Label","Values":["x","y"]}]}`, invalidValue, "one value"},
	{"GetParameterHistory", `{"Name":"p:1"}`, invalid, "as a whole"},
	{"GetParameterHistory", `{"Name":"p","MaxResults":51}`, invalid, "1 to 50"},
	{"DescribeParameters", `{"MaxResults":0}`, invalid, "1 to 50"},
	{"DescribeParameters", `{"Shared":true}`, invalid, "no other accounts"},
	{"DescribeParameters", describe(`{"Key":"Label","Values":["x"]}`), invalidFilterKey, "Valid filter keys"},
	{"DescribeParameters", describe(`{"Key":"Name"}`), invalidValue, "needs values"},
	{"DescribeParameters", describe(`{"Key":"Type","Option":"Contains","Values":["x"]}`), invalidOption, "Equals"},
	{"DescribeParameters", describe(`{"Key":"Path","Option":"Equals","Values":["/"]}`), invalidOption, "OneLevel"},
	{"DescribeParameters", describe(`{"Key":"Path","Values":["x"]}`), invalidValue, "begin with a slash"},
	{"DescribeParameters", describe(`{"Key":"Name","Values":["a"]},{"Key":"Name","Values":["b"]}`), invalid, "duplicated"},
	{"DescribeParameters", describe(`{"Key":"Name","Values":["` + strings.Repeat(`a","`, 50) + `"]}`), invalidValue, "at most 50"},
	{"DescribeParameters", `{"Filters":[{"Key":"Name","Values":["a"]}],"ParameterFilters":[{"Key":"Name","Values":["b"]}]}`, invalid, "either"},
	{"LabelParameterVersion", `{"Name":"p","Labels":[]}`, invalid, "1 to 10"},
	{"LabelParameterVersion", `{"Name":"p","ParameterVersion":7,"Labels":["l"]}`, versionNotFound, "version 7"},
	{"UnlabelParameterVersion", `{"Name":"p","Labels":["l"]}`, invalid, "ParameterVersion must be given"},
	{"ListTagsForResource", tagsOf("Document", "p", ""), invalidKind, "Parameter"},
	{"ListTagsForResource", tagsOf("Parameter", "none", ""), invalidResource, "none"},
	{"AddTagsToResource", tagsOf("Parameter", "p", `,"Tags":[{"Key":"","Value":"v"}]`), invalid, "1 to 128"},
	{"AddTagsToResource", tagsOf("Parameter", "p", `,"Tags":[`+strings.TrimSuffix(strings.Repeat(`{"Key":"k","Value":"v"},`, 51), ",")+`]`), invalid, "at most 50"},
	{"RemoveTagsFromResource", tagsOf("Parameter", "p", `,"TagKeys":["pinion.clusters"]`), invalid, "stays"},
	{"SendCommand", `{}`, wire.UnknownOperation, "PutParameter"},
}

func TestWhatIsRefused(t *testing.T) {
	f := newFixture(t)
	f.must(t, "PutParameter", put("p", "v"))
	for _, c := range append(refusedPuts, refusedOthers...) {
		got, err := f.as(admin, c.operation, c.body)
		if errorType(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s %.200s: %s, %.400v", c.operation, c.body, got, err)
		}
		if err != nil && len(err.Error()) > 3000 {
			t.Errorf("%s %.200s: the error has %d bytes", c.operation, c.body, len(err.Error()))
		}
	}
	if got := f.must(t, "DescribeParameters", `{}`); strings.Count(got, `"Name"`) != 1 {
		t.Errorf("something was kept: %s", got)
	}
}

// No pattern takes long because it tries again and again, as those of other languages do.
func TestPatternsDoNotBacktrack(t *testing.T) {
	for _, pattern := range []string{"^(a+)+$b", `^(a|a)*$b`, "(a*)*(a*)*(a*)*c"} {
		if err := checkPattern(pattern, strings.Repeat("a", maxAdvanced)); errorType(err) != patternMismatch {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
