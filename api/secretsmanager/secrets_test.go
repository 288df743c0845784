package secretsmanager

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pinion/api/wire"
)

func TestASecretIsKeptAndRead(t *testing.T) {
	f := newFixture(t)
	made := f.must(t, "CreateSecret", input("Name", "prod/db", text(`{"password":"hunter2"}`), withClientToken(1), `,"Description":"of the db","KmsKeyId":"alias/k","Tags":[{"Key":"k","Value":"v"}]`))
	arn := member(t, made, "ARN")
	if !regexp.MustCompile(`^arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-[A-Za-z0-9]{6}$`).MatchString(arn) || member(t, made, "VersionId") != clientToken(1) {
		t.Fatal(made)
	}
	partial := arn[:len(arn)-7]
	for _, id := range []string{"prod/db", arn, partial, strings.Replace(arn, "us-east-1:123456789012", "eu-west-1:000000000000", 1), "prod/db" + arn[len(arn)-7:]} {
		want := `{"ARN":"` + arn + `","Name":"prod/db","VersionId":"` + clientToken(1) + `","SecretString":"{\"password\":\"hunter2\"}","VersionStages":["AWSCURRENT"],"CreatedDate":1767323045.000}`
		if got := f.must(t, "GetSecretValue", input("SecretId", id)); got != want {
			t.Errorf("%s: %s", id, got)
		}
	}
	if _, err := f.as(admin, "GetSecretValue", input("SecretId", partial+"-AAAAAA")); errorType(err) != notFound {
		t.Errorf("the ARN of another one: %v", err)
	}
	want := `{"ARN":"` + arn + `","Name":"prod/db","Description":"of the db","KmsKeyId":"alias/k","LastChangedDate":1767323045.000,"CreatedDate":1767323045.000,"Tags":[{"Key":"k","Value":"v"}],"VersionIdsToStages":{"` + clientToken(1) + `":["AWSCURRENT"]}}`
	if got := f.must(t, "DescribeSecret", input("SecretId", arn)); got != want {
		t.Errorf("%s", got)
	}
	if got := f.must(t, "GetResourcePolicy", input("SecretId", arn)); got != `{"ARN":"`+arn+`","Name":"prod/db"}` {
		t.Errorf("%s", got)
	}
	f.must(t, "CreateSecret", input("Name", "binary", `,"SecretBinary":"AAEC/w=="`))
	if got := f.must(t, "GetSecretValue", input("SecretId", "binary")); !strings.Contains(got, `"SecretBinary":"AAEC/w=="`) || strings.Contains(got, "SecretString") {
		t.Errorf("%s", got)
	}
	if bytes.Contains(f.Log, []byte("hunter2")) || bytes.Contains(f.Log, []byte("AAEC/w==")) || !bytes.Contains(f.Log, []byte("prod/db")) {
		t.Error("the log tells a value, or not even a name")
	}
	if got := f.must(t, "CreateSecret", input("Name", "empty")); member(t, got, "VersionId") != "<nil>" {
		t.Errorf("%s", got)
	}
	if _, err := f.as(admin, "GetSecretValue", input("SecretId", "empty")); errorType(err) != notFound || !strings.Contains(err.Error(), "for staging label: AWSCURRENT") {
		t.Errorf("%v", err)
	}
}

// A client repeats a request that it got no answer to, with the same token.
func TestATokenMakesOneVersion(t *testing.T) {
	f := newFixture(t)
	first := f.must(t, "CreateSecret", input("Name", "s", text("one"), withClientToken(1)))
	if again := f.must(t, "CreateSecret", input("Name", "s", text("one"), withClientToken(1))); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	for what, body := range map[string]string{
		"another value": input("Name", "s", text("two"), withClientToken(1)), "another token": input("Name", "s", text("one"), withClientToken(2)), "no value": input("Name", "s", withClientToken(1)),
		"the value as bytes": input("Name", "s", `,"SecretBinary":"b25l"`, withClientToken(1)),
	} {
		if _, err := f.as(admin, "CreateSecret", body); errorType(err) != exists {
			t.Errorf("%s: %v", what, err)
		}
	}
	two := f.must(t, "PutSecretValue", input("SecretId", "s", text("two"), withClientToken(2)))
	entries := len(f.Log)
	if again := f.must(t, "PutSecretValue", input("SecretId", "s", text("two"), withClientToken(2))); again != two || len(f.Log) != entries {
		t.Errorf("%s, then %s", two, again)
	}
	for _, operation := range []string{"PutSecretValue", "UpdateSecret"} {
		if _, err := f.as(admin, operation, input("SecretId", "s", text("three"), withClientToken(2))); errorType(err) != exists || strings.Contains(err.Error(), "two") {
			t.Errorf("%s: %v", operation, err)
		}
	}
	if id := member(t, f.must(t, "PutSecretValue", input("SecretId", "s", text("four"))), "VersionId"); len(id) != 36 {
		t.Errorf("the server makes the id %q", id)
	}
}

func TestStagesMove(t *testing.T) {
	f := newFixture(t)
	f.must(t, "CreateSecret", input("Name", "s", text("1"), withClientToken(1)))
	stages := func(want ...string) {
		t.Helper()
		got := f.must(t, "DescribeSecret", `{"SecretId":"s"}`)
		_, got, _ = strings.Cut(got, `"VersionIdsToStages":`)
		for i, id := range want {
			if !strings.Contains(got, id) {
				t.Errorf("%d: %s has not %s", i, got, id)
			}
		}
		if strings.Count(got, `[`) != len(want) {
			t.Errorf("%s", got)
		}
	}
	of := func(n int, stages string) string { return fmt.Sprintf(`%q:[%s]`, clientToken(n), stages) }
	f.must(t, "PutSecretValue", input("SecretId", "s", text("2"), withClientToken(2)))
	stages(of(1, `"AWSPREVIOUS"`), of(2, `"AWSCURRENT"`))
	if got := f.must(t, "UpdateSecret", input("SecretId", "s", text("3"), withClientToken(3))); member(t, got, "VersionId") != clientToken(3) {
		t.Errorf("%s", got)
	}
	stages(of(2, `"AWSPREVIOUS"`), of(3, `"AWSCURRENT"`))
	if got := f.must(t, "PutSecretValue", input("SecretId", "s", text("4"), withClientToken(4), `,"VersionStages":["AWSPENDING","blue"]`)); !strings.Contains(got, `"VersionStages":["AWSPENDING","blue"]`) {
		t.Errorf("%s", got)
	}
	move := func(stage, from, to string) error {
		_, err := f.as(admin, "UpdateSecretVersionStage", fmt.Sprintf(`{"SecretId":"s","VersionStage":%q,"RemoveFromVersionId":%q,"MoveToVersionId":%q}`, stage, from, to))
		return err
	}
	for _, c := range []struct{ stage, from, to, fails string }{
		{"AWSCURRENT", "", clientToken(4), invalid}, {"AWSCURRENT", clientToken(2), clientToken(4), invalid}, {"AWSCURRENT", clientToken(3), "", invalid}, {"AWSCURRENT", clientToken(3), clientToken(9), notFound},
		{"blue", clientToken(1), "", invalid}, {"green", clientToken(1), clientToken(2), invalid}, {"blue", "", "", invalid}, {"", "", clientToken(1), invalid},
	} {
		if err := move(c.stage, c.from, c.to); errorType(err) != c.fails {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range [][3]string{{"AWSCURRENT", clientToken(3), clientToken(4)}, {"AWSCURRENT", "", clientToken(4)}, {"blue", clientToken(4), ""}, {"green", "", clientToken(1)}, {"AWSPENDING", clientToken(4), ""}} {
		if err := move(c[0], c[1], c[2]); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
	stages(of(1, `"green"`), of(3, `"AWSPREVIOUS"`), of(4, `"AWSCURRENT"`))
	for body, want := range map[string]string{
		`{"SecretId":"s"}`: "4", `{"SecretId":"s","VersionStage":"AWSPREVIOUS"}`: "3", `{"SecretId":"s","VersionId":"` + clientToken(2) + `"}`: "2", `{"SecretId":"s","VersionId":"` + clientToken(1) + `","VersionStage":"green"}`: "1",
	} {
		if got := f.must(t, "GetSecretValue", body); member(t, got, "SecretString") != want {
			t.Errorf("%s: %s", body, got)
		}
	}
	if got := f.must(t, "ListSecretVersionIds", `{"SecretId":"s"}`); strings.Count(got, "VersionId") != 3 {
		t.Errorf("%s", got)
	}
	if got := f.must(t, "ListSecretVersionIds", `{"SecretId":"s","IncludeDeprecated":true}`); strings.Count(got, "VersionId") != 4 {
		t.Errorf("%s", got)
	}
}

func TestASecretIsDeletedAndRestored(t *testing.T) {
	f := newFixture(t)
	f.must(t, "CreateSecret", input("Name", "s", text("v"), withClientToken(1)))
	f.Now = f.Now.Add(time.Hour)
	if got := f.must(t, "DeleteSecret", `{"SecretId":"s","RecoveryWindowInDays":7}`); !strings.Contains(got, fmt.Sprintf(`"DeletionDate":%d.000`, f.Now.Add(7*24*time.Hour).Unix())) {
		t.Errorf("%s", got)
	}
	for operation, body := range map[string]string{
		"GetSecretValue": `{"SecretId":"s"}`, "PutSecretValue": input("SecretId", "s", text("w")), "UpdateSecret": `{"SecretId":"s","Description":"d"}`,
		"UpdateSecretVersionStage": `{"SecretId":"s","VersionStage":"x","MoveToVersionId":"` + clientToken(1) + `"}`, "DeleteSecret": `{"SecretId":"s"}`,
		"TagResource": `{"SecretId":"s","Tags":[{"Key":"k","Value":"v"}]}`, "UntagResource": `{"SecretId":"s","TagKeys":["k"]}`, "CreateSecret": input("Name", "s", text("v"), withClientToken(1)),
	} {
		if got, err := f.as(admin, operation, body); errorType(err) != invalidRequest {
			t.Errorf("%s: %s, %v", operation, got, err)
		}
	}
	if _, err := f.as(admin, "GetSecretValue", `{"SecretId":"s"}`); !strings.Contains(err.Error(), "because it was marked for deletion") {
		t.Errorf("Terraform looks for other words: %v", err)
	}
	if _, err := f.as(admin, "CreateSecret", `{"Name":"s"}`); !strings.Contains(err.Error(), "scheduled for deletion") {
		t.Errorf("Terraform looks for other words: %v", err)
	}
	deleted := fmt.Sprintf(`"DeletedDate":%d.000`, f.Now.Unix())
	if got := f.must(t, "DescribeSecret", `{"SecretId":"s"}`); !strings.Contains(got, deleted) {
		t.Errorf("%s", got)
	}
	if got := f.must(t, "ListSecrets", `{}`); got != `{"SecretList":[]}` {
		t.Errorf("%s", got)
	}
	if got := f.must(t, "ListSecrets", `{"IncludePlannedDeletion":true}`); !strings.Contains(got, deleted) {
		t.Errorf("%s", got)
	}
	f.must(t, "RestoreSecret", `{"SecretId":"s"}`)
	f.must(t, "RestoreSecret", `{"SecretId":"s"}`)
	if got := f.must(t, "GetSecretValue", `{"SecretId":"s"}`); member(t, got, "SecretString") != "v" {
		t.Errorf("%s", got)
	}
	f.must(t, "DeleteSecret", `{"SecretId":"s"}`)
	for range 2 { // what is repeated is no error
		f.must(t, "DeleteSecret", `{"SecretId":"s","ForceDeleteWithoutRecovery":true}`)
	}
	for _, operation := range []string{"DescribeSecret", "RestoreSecret", "DeleteSecret"} {
		if _, err := f.as(admin, operation, `{"SecretId":"s"}`); errorType(err) != notFound {
			t.Errorf("%s: %v", operation, err)
		}
	}
	f.must(t, "CreateSecret", input("Name", "s"))
}

func TestWhoIsToldAValue(t *testing.T) {
	f := newFixture(t)
	f.mustAs(t, ofA, "CreateSecret", input("Name", "s", text("secret of a")))
	for operation, body := range map[string]string{"GetSecretValue": `{"SecretId":"s"}`, "BatchGetSecretValue": `{"SecretIdList":["s"]}`} {
		if got, err := f.as(reader, operation, body); errorType(err) != wire.AccessDenied || strings.Contains(fmt.Sprint(got, err), "secret of a") {
			t.Errorf("%s by a key that reads: %s %v", operation, got, err)
		}
		if f.mustAs(t, ofA, operation, body); len(f.Used) != 1 || f.Used[0] != "s" {
			t.Errorf("%s: the audit log is told of %v", operation, f.Used)
		}
	}
	for operation, body := range map[string]string{"DescribeSecret": `{"SecretId":"s"}`, "ListSecrets": `{}`, "ListSecretVersionIds": `{"SecretId":"s"}`, "GetResourcePolicy": `{"SecretId":"s"}`} {
		if got := f.mustAs(t, reader, operation, body); strings.Contains(got, "secret of a") || len(f.Used) != 0 {
			t.Errorf("%s: %s, %v", operation, got, f.Used)
		}
	}
}
