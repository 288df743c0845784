package secretsmanager

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

// Two teams share a cluster. The secrets of one are as far from the other as those of another cluster.
func TestAKeyForOneTeamCannotReachTheSecretsOfAnother(t *testing.T) {
	vision, speech := secretstest.OfTeams(ofB, "vision"), secretstest.OfTeams(secretstest.Key(accesskey.RoleAdmin, ""), "speech")
	attack(t, vision, `{"Key":"pinion.teams","Value":"speech"}`, secretstest.OfTeams(ofB, "speech"), speech, secretstest.OfTeams(speech, "speech", "vis"))
}

// attack has callers do to a secret of another whatever there is to do: they learn and change nothing. The one thing that they can find out is that a
// name is taken.
func attack(t *testing.T, owner auth.Principal, tag string, attackers ...auth.Principal) {
	f := newFixture(t)
	const value = "only for b"
	made := f.mustAs(t, owner, "CreateSecret", input("Name", "b/x", text(value), withClientToken(1), `,"Tags":[{"Key":"k","Value":"v"}]`))
	arn := member(t, made, "ARN")
	before := f.mustAs(t, owner, "DescribeSecret", `{"SecretId":"b/x"}`) + f.mustAs(t, owner, "GetSecretValue", `{"SecretId":"b/x"}`)
	for _, who := range attackers {
		for _, id := range []string{"b/x", "/b/x", arn, arn[:len(arn)-7]} {
			for operation, more := range map[string]string{
				"GetSecretValue": "", "DescribeSecret": "", "ListSecretVersionIds": "", "GetResourcePolicy": "", "RestoreSecret": "", "DeleteSecret": "",
				"PutSecretValue": text("stolen"), "UpdateSecret": text(value) + withClientToken(1), "UpdateSecretVersionStage": `,"VersionStage":"x","MoveToVersionId":"` + clientToken(1) + `"`,
				"TagResource": `,"Tags":[` + tag + `]`, "UntagResource": `,"TagKeys":["k"]`,
			} {
				got, err := f.as(who, operation, input("SecretId", id, more))
				if errorType(err) != notFound || strings.Contains(fmt.Sprint(got, err), value) {
					t.Errorf("%s: %s of %s: %s, %v", who.ARN, operation, id, got, err)
				}
			}
		}
		for body, want := range map[string]string{
			`{"SecretIdList":["b/x"]}`:                             `{"SecretValues":[],"Errors":[{"SecretId":"b/x","ErrorCode":"ResourceNotFoundException","Message":"Secrets Manager can't find the specified secret."}]}`,
			`{"Filters":[{"Key":"all","Values":["x"]}]}`:           `{"SecretValues":[],"Errors":[]}`,
			`{"Filters":[{"Key":"name","Values":["!something"]}]}`: `{"SecretValues":[],"Errors":[]}`,
		} {
			if got := f.mustAs(t, who, "BatchGetSecretValue", body); got != want {
				t.Errorf("%s: %s: %s", who.ARN, body, got)
			}
		}
		if got := f.mustAs(t, who, "ListSecrets", `{"IncludePlannedDeletion":true}`); got != `{"SecretList":[]}` {
			t.Errorf("%s: %s", who.ARN, got)
		}
		for _, body := range []string{input("Name", "b/x"), input("Name", "b/x", text(value), withClientToken(1))} { // also with the token and the value of its creation
			if got, err := f.as(who, "CreateSecret", body); errorType(err) != exists {
				t.Errorf("%s: %s, %v", who.ARN, got, err)
			}
		}
		absent := f.mustAs(t, who, "DeleteSecret", `{"SecretId":"none","ForceDeleteWithoutRecovery":true}`)
		if got := f.mustAs(t, who, "DeleteSecret", `{"SecretId":"b/x","ForceDeleteWithoutRecovery":true}`); got != strings.Replace(absent, "none", "b/x", 1) {
			t.Errorf("%s: %s", who.ARN, got)
		}
	}
	if after := f.mustAs(t, owner, "DescribeSecret", `{"SecretId":"b/x"}`) + f.mustAs(t, owner, "GetSecretValue", `{"SecretId":"b/x"}`); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	f.mustAs(t, owner, "DeleteSecret", `{"SecretId":"b/x"}`)
	if _, err := f.as(attackers[0], "CreateSecret", input("Name", "b/x")); errorType(err) != exists {
		t.Errorf("%s learns that it is to be deleted: %v", attackers[0].ARN, err)
	}
}

// What is for all clusters, or for more than the key is, its tasks may use. The key may know of it, and no more.
func TestAKeyForOneClusterOnlyKnowsOfWhatIsForMore(t *testing.T) {
	f := newFixture(t)
	f.must(t, "CreateSecret", input("Name", "pool", text("for all"), withClientToken(1)))
	f.must(t, "CreateSecret", input("Name", "both", text("for all"), withClientToken(1), `,"Tags":[{"Key":"pinion.clusters","Value":"a b"}]`))
	if got := f.mustAs(t, ofA, "ListSecrets", `{"SortBy":"name"}`); names(got) != "both pool" {
		t.Errorf("%s", got)
	}
	for _, name := range []string{"pool", "both"} {
		for operation, more := range map[string]string{
			"GetSecretValue": "", "RestoreSecret": "", "DeleteSecret": "", "PutSecretValue": text("stolen"), "UpdateSecret": `,"Description":"d"`,
			"UpdateSecretVersionStage": `,"VersionStage":"x","MoveToVersionId":"` + clientToken(1) + `"`, "TagResource": `,"Tags":[{"Key":"k","Value":"v"}]`, "UntagResource": `,"TagKeys":["k"]`,
		} {
			if got, err := f.as(ofA, operation, input("SecretId", name, more)); errorType(err) != wire.AccessDenied || len(f.Used) != 1 {
				t.Errorf("%s of %s: %s, %v, %v", operation, name, got, err, f.Used)
			}
		}
		if _, err := f.as(ofA, "DeleteSecret", input("SecretId", name, `,"ForceDeleteWithoutRecovery":true`)); errorType(err) != wire.AccessDenied {
			t.Errorf("forced: %v", err)
		}
		if got, err := f.as(ofA, "CreateSecret", input("Name", name, text("for all"), withClientToken(1))); errorType(err) != wire.AccessDenied {
			t.Errorf("created again with its token and value: %s, %v", got, err)
		}
		if got := f.mustAs(t, ofA, "BatchGetSecretValue", `{"SecretIdList":["`+name+`"]}`); strings.Contains(got, `"SecretString"`) || !strings.Contains(got, wire.AccessDenied) {
			t.Errorf("%s", got)
		}
	}
	for what, clusters := range map[string]string{"a foreign cluster": "b", "two, one foreign": "a b", "one that is not": "none"} {
		if _, err := f.as(ofA, "CreateSecret", input("Name", "n", `,"Tags":[{"Key":"pinion.clusters","Value":"`+clusters+`"}]`)); errorType(err) != wire.AccessDenied {
			t.Errorf("%s: %v", what, err)
		}
	}
	f.mustAs(t, ofA, "CreateSecret", input("Name", "n", text("v")))
	for _, clusters := range []string{"a b", "b", ""} {
		if _, err := f.as(ofA, "TagResource", input("SecretId", "n", `,"Tags":[{"Key":"pinion.clusters","Value":"`+clusters+`"}]`)); errorType(err) != invalidRequest {
			t.Errorf("given to %q: %v", clusters, err)
		}
	}
	if _, err := f.as(ofA, "UntagResource", input("SecretId", "n", `,"TagKeys":["pinion.clusters"]`)); errorType(err) != invalid {
		t.Errorf("%v", err)
	}
}
