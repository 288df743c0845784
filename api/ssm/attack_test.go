package ssm

import (
	"fmt"
	"strings"
	"testing"

	"pinion/api/auth"
	"pinion/api/secrets/secretstest"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

func TestAKeyForOneClusterCannotReachAnother(t *testing.T) {
	attack(t, ofB, `{"Key":"pinion.clusters","Value":"a"}`, secretstest.Key(accesskey.RoleAdmin, "a"), secretstest.Key(accesskey.RoleAdmin, "c"))
}

// Two teams share a cluster. The parameters of one are as far from the other as those of another cluster.
func TestAKeyForOneTeamCannotReachTheParametersOfAnother(t *testing.T) {
	vision, speech := secretstest.OfTeams(ofB, "vision"), secretstest.OfTeams(secretstest.Key(accesskey.RoleAdmin, ""), "speech")
	attack(t, vision, `{"Key":"pinion.teams","Value":"speech"}`, secretstest.OfTeams(ofB, "speech"), speech, secretstest.OfTeams(speech, "speech", "vis"))
}

// attack has callers do to a parameter of another whatever there is to do: they learn and change nothing. The one thing that they can find out is that
// a name is taken.
func attack(t *testing.T, owner auth.Principal, tag string, attackers ...auth.Principal) {
	f := newFixture(t)
	const value = "only for b"
	f.mustAs(t, owner, "PutParameter", put("/b/x", value, `,"Tags":[{"Key":"k","Value":"v"}]`))
	f.mustAs(t, owner, "LabelParameterVersion", `{"Name":"/b/x","Labels":["live"]}`)
	before := f.mustAs(t, owner, "GetParameterHistory", `{"Name":"/b/x"}`) + f.mustAs(t, owner, "ListTagsForResource", `{"ResourceType":"Parameter","ResourceId":"/b/x"}`)
	const resource = `"ResourceType":"Parameter","ResourceId":"/b/x"`
	for _, who := range attackers {
		for _, c := range []struct{ operation, body, fails, answers string }{
			{"GetParameter", `{"Name":"/b/x","WithDecryption":true}`, notFound, ""},
			{"GetParameter", `{"Name":"b/x"}`, notFound, ""},
			{"GetParameter", `{"Name":"/b/x:1"}`, notFound, ""},
			{"GetParameter", `{"Name":"/b/x:live"}`, notFound, ""},
			{"GetParameter", `{"Name":"arn:aws:ssm:us-east-1:123456789012:parameter/b/x"}`, notFound, ""},
			{"GetParameters", `{"Names":["/b/x"]}`, "", `{"Parameters":[],"InvalidParameters":["/b/x"]}`},
			{"GetParametersByPath", `{"Path":"/","Recursive":true}`, "", `{"Parameters":[]}`},
			{"GetParametersByPath", `{"Path":"/b","ParameterFilters":[{"Key":"Label","Values":["live"]}]}`, "", `{"Parameters":[]}`},
			{"GetParameterHistory", `{"Name":"/b/x"}`, notFound, ""},
			{"DescribeParameters", `{}`, "", `{"Parameters":[]}`},
			{"DescribeParameters", `{"ParameterFilters":[{"Key":"tag:k"}]}`, "", `{"Parameters":[]}`},
			{"DescribeParameters", `{"NextToken":"Yg"}`, "", `{"Parameters":[]}`},
			{"ListTagsForResource", `{` + resource + `}`, invalidResource, ""},
			{"AddTagsToResource", `{` + resource + `,"Tags":[` + tag + `]}`, invalidResource, ""},
			{"RemoveTagsFromResource", `{` + resource + `,"TagKeys":["k"]}`, invalidResource, ""},
			{"LabelParameterVersion", `{"Name":"/b/x","Labels":["mine"]}`, notFound, ""},
			{"UnlabelParameterVersion", `{"Name":"/b/x","ParameterVersion":1,"Labels":["live"]}`, notFound, ""},
			{"PutParameter", put("/b/x", "stolen"), alreadyExists, ""},
			{"PutParameter", put("/b/x", "stolen", `,"Overwrite":true`), alreadyExists, ""},
			{"DeleteParameter", `{"Name":"/b/x"}`, notFound, ""},
			{"DeleteParameters", `{"Names":["/b/x"]}`, "", `{"DeletedParameters":[],"InvalidParameters":["/b/x"]}`},
		} {
			got, err := f.as(who, c.operation, c.body)
			if c.fails != "" && errorType(err) != c.fails || c.fails == "" && (err != nil || got != c.answers) || strings.Contains(fmt.Sprint(got, err), value) {
				t.Errorf("%s: %s %s: %s, %v", who.ARN, c.operation, c.body, got, err)
			}
		}
	}
	if after := f.mustAs(t, owner, "GetParameterHistory", `{"Name":"/b/x"}`) + f.mustAs(t, owner, "ListTagsForResource", `{"ResourceType":"Parameter","ResourceId":"/b/x"}`); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}

// What is for all clusters, or for more than the key is, its tasks may use. The key may know of it, and no more.
func TestAKeyForOneClusterOnlyKnowsOfWhatIsForMore(t *testing.T) {
	f := newFixture(t)
	f.must(t, "PutParameter", put("/pool/x", "for all"))
	f.must(t, "PutParameter", put("/pool/y", "for both", `,"Tags":[{"Key":"pinion.clusters","Value":"a b"}]`))
	if got := f.mustAs(t, ofA, "DescribeParameters", `{}`); strings.Count(got, `"Name"`) != 2 {
		t.Errorf("%s", got)
	}
	for _, name := range []string{"/pool/x", "/pool/y"} {
		resource := `"ResourceType":"Parameter","ResourceId":"` + name + `"`
		for operation, body := range map[string]string{
			"GetParameter": `{"Name":"` + name + `","WithDecryption":true}`, "GetParameters": `{"Names":["` + name + `"]}`, "GetParametersByPath": `{"Path":"/pool"}`,
			"GetParameterHistory": `{"Name":"` + name + `"}`, "PutParameter": put(name, "v", `,"Overwrite":true`), "DeleteParameter": `{"Name":"` + name + `"}`,
			"DeleteParameters": `{"Names":["` + name + `"]}`, "LabelParameterVersion": `{"Name":"` + name + `","Labels":["l"]}`,
			"AddTagsToResource": `{` + resource + `,"Tags":[{"Key":"k","Value":"v"}]}`, "RemoveTagsFromResource": `{` + resource + `,"TagKeys":["k"]}`,
		} {
			if got, err := f.as(ofA, operation, body); errorType(err) != wire.AccessDenied || strings.Contains(fmt.Sprint(got, err), "for all\"") {
				t.Errorf("%s %s: %s, %v", operation, body, got, err)
			}
		}
	}
	for operation, body := range map[string]string{
		"a foreign cluster": put("/n/1", "v", `,"Tags":[{"Key":"pinion.clusters","Value":"b"}]`),
		"two, one foreign":  put("/n/2", "v", `,"Tags":[{"Key":"pinion.clusters","Value":"a b"}]`),
		"one that is not":   put("/n/3", "v", `,"Tags":[{"Key":"pinion.clusters","Value":"none"}]`),
	} {
		if _, err := f.as(ofA, "PutParameter", body); errorType(err) != wire.AccessDenied {
			t.Errorf("%s: %v", operation, err)
		}
	}
	f.mustAs(t, ofA, "PutParameter", put("/n/4", "v"))
	for _, clusters := range []string{"a b", "b", ""} {
		if _, err := f.as(ofA, "AddTagsToResource", `{"ResourceType":"Parameter","ResourceId":"/n/4","Tags":[{"Key":"pinion.clusters","Value":"`+clusters+`"}]}`); errorType(err) != invalid {
			t.Errorf("given to %q: %v", clusters, err)
		}
	}
	if _, err := f.as(ofB, "DeleteParameters", `{"Names":["/pool/x","/n/4"]}`); errorType(err) != wire.AccessDenied {
		t.Errorf("%v", err)
	}
	f.mustAs(t, ofA, "GetParameter", `{"Name":"/n/4"}`)
}
