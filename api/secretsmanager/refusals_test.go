package secretsmanager

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"pinion/api/wire"
)

// refusal is a request, and how it is refused.
type refusal struct{ operation, body, kind, says string }

func created(name string, more ...string) string { return input("Name", name, more...) }

func binary(size int) string {
	return `,"SecretBinary":"` + base64.StdEncoding.EncodeToString(make([]byte, size)) + `"`
}

// refusals are requests on a state that has the secret s, with one version.
var refusals = []refusal{
	{"CreateSecret", created("s"), exists, "already exists"},
	{"CreateSecret", created(""), invalid, "Invalid name"},
	{"CreateSecret", created("/"), invalid, "Invalid name"},
	{"CreateSecret", created("a b"), invalid, "Invalid name"},
	{"CreateSecret", created("a\x00b"), invalid, "Invalid name"},
	{"CreateSecret", created("ä"), invalid, "Invalid name"},
	{"CreateSecret", created("a:b"), invalid, "Invalid name"},
	{"CreateSecret", created("../../etc/shadow"), invalid, "between slashes"},
	{"CreateSecret", created("a/./b"), invalid, "between slashes"},
	{"CreateSecret", created("arn:aws:secretsmanager:r:1:secret:x"), invalid, "Invalid name"},
	{"CreateSecret", created(strings.Repeat("x", 513)), invalid, "512"},
	{"CreateSecret", created(strings.Repeat("x", 1<<20)), invalid, "512"},
	{"CreateSecret", created("n", text("")), invalid, "must not be empty"},
	{"CreateSecret", created("n", text("a\x00b")), invalid, "SecretBinary"},
	{"CreateSecret", created("n", text(strings.Repeat("v", 65537))), invalid, "65536 bytes"},
	{"CreateSecret", created("n", text(strings.Repeat("ä", 32769))), invalid, "65536 bytes"},
	{"CreateSecret", created("n", text(strings.Repeat("v", 1<<20))), invalid, "65536 bytes"},
	{"CreateSecret", created("n", binary(65537)), invalid, "65536 bytes"},
	{"CreateSecret", created("n", binary(0)), invalid, "1 to 65536"},
	{"CreateSecret", created("n", `,"SecretBinary":"not base64"`), wire.Serialization, "base64"},
	{"CreateSecret", created("n", `,"SecretString":{"password":"hunter2"}`), wire.Serialization, "must be a string"},
	{"CreateSecret", created("n", text("a"), binary(1)), invalid, "both"},
	{"CreateSecret", created("n", `,"ClientRequestToken":"short"`), invalid, "32 to 64"},
	{"CreateSecret", created("n", `,"ClientRequestToken":"`+strings.Repeat("x", 65)+`"`), invalid, "32 to 64"},
	{"CreateSecret", created("n", `,"Description":"`+strings.Repeat("d", 2049)+`"`), invalid, "2048"},
	{"CreateSecret", created("n", `,"KmsKeyId":"a\u0000"`), invalid, "control characters"},
	{"CreateSecret", created("n", `,"Tags":[{"Key":"aws:x","Value":"v"}]`), invalid, "reserved"},
	{"CreateSecret", created("n", `,"Tags":[{"Key":"pinion.cluster","Value":"a"}]`), invalid, "is not known"},
	{"CreateSecret", created("n", `,"Tags":[{"Key":"pinion.clusters","Value":"none"}]`), invalid, "does not exist"},
	{"CreateSecret", created("n", `,"AddReplicaRegions":[{"Region":"eu-west-1"}]`), invalid, "every server"},
	{"CreateSecret", created("n", `,"Type":"partner"`), invalid, "no partner"},
	{"GetSecretValue", `{}`, invalid, "SecretId must be"},
	{"GetSecretValue", input("SecretId", strings.Repeat("x", 2049)), invalid, "SecretId must be"},
	{"GetSecretValue", input("SecretId", "none"), notFound, "can't find the specified secret"},
	{"GetSecretValue", input("SecretId", "arn:aws:ssm:us-east-1:123456789012:parameter/s"), invalid, "not the ARN of a secret"},
	{"GetSecretValue", input("SecretId", "arn:aws:secretsmanager:us-east-1:123456789012:secret:s:key::"), invalid, "not the ARN of a secret"},
	{"GetSecretValue", input("SecretId", "s", `,"VersionId":"`+clientToken(9)+`"`), notFound, "for VersionId"},
	{"GetSecretValue", input("SecretId", "s", `,"VersionStage":"`+strings.Repeat("x", 10000)+`"`), notFound, "for staging label"},
	{"GetSecretValue", input("SecretId", "s", `,"VersionId":"`+clientToken(1)+`","VersionStage":"other"`), invalidRequest, "not associated"},
	{"PutSecretValue", input("SecretId", "none", text("v")), notFound, "can't find"},
	{"PutSecretValue", input("SecretId", "s"), invalidRequest, "either SecretString or SecretBinary"},
	{"PutSecretValue", input("SecretId", "s", text("v"), `,"VersionStages":[""]`), invalid, "1 to 256"},
	{"PutSecretValue", input("SecretId", "s", text("v"), `,"VersionStages":["`+strings.Repeat("x", 257)+`"]`), invalid, "1 to 256"},
	{"PutSecretValue", input("SecretId", "s", text("v"), `,"VersionStages":["a\u0000"]`), invalid, "control characters"},
	{"PutSecretValue", input("SecretId", "s", text("v"), `,"VersionStages":["x"`+strings.Repeat(`,"x"`, 20)+`]`), invalid, "at most 20"},
	{"UpdateSecret", input("SecretId", "s", `,"Description":"`+strings.Repeat("d", 2049)+`"`), invalid, "2048"},
	{"BatchGetSecretValue", `{}`, invalid, "not both"},
	{"BatchGetSecretValue", `{"SecretIdList":["s"],"Filters":[{"Key":"name","Values":["s"]}]}`, invalid, "not both"},
	{"BatchGetSecretValue", `{"SecretIdList":["s"],"MaxResults":1}`, invalid, "are for Filters"},
	{"BatchGetSecretValue", `{"SecretIdList":["s"` + strings.Repeat(`,"s"`, 20) + `]}`, invalid, "at most 20"},
	{"BatchGetSecretValue", `{"Filters":[{"Key":"name","Values":["s"]}],"MaxResults":21}`, invalid, "1 to 20"},
	{"ListSecrets", `{"MaxResults":101}`, invalid, "1 to 100"},
	{"ListSecrets", `{"NextToken":"%"}`, invalidNextToken, "NextToken"},
	{"ListSecrets", `{"SortBy":"last-accessed-date"}`, invalid, "SortBy"},
	{"ListSecrets", `{"SortOrder":"up"}`, invalid, "SortOrder"},
	{"ListSecrets", `{"Filters":[{"Key":"color","Values":["red"]}]}`, invalid, "filter key"},
	{"ListSecrets", `{"Filters":[{"Key":"name","Values":[]}]}`, invalid, "1 to 10 values"},
	{"ListSecrets", `{"Filters":[{"Key":"name","Values":[""]}]}`, invalid, "1 to 512"},
	{"ListSecrets", `{"Filters":[{"Key":"all","Values":["` + strings.Repeat("w ", 33) + `"]}]}`, invalid, "at most 32 words"},
	{"ListSecrets", `{"Filters":[{"Key":"all","Values":["` + strings.Repeat("w ", 32) + `","` + strings.Repeat("w-", 32) + `"]},{"Key":"description","Values":["!w"]}]}`, invalid, "all values of a request 64"},
	{"BatchGetSecretValue", `{"Filters":[{"Key":"description","Values":["` + strings.Repeat("w/", 33) + `"]}]}`, invalid, "at most 32 words"},
	{"ListSecretVersionIds", `{"SecretId":"s","MaxResults":0}`, invalid, "1 to 100"},
	{"DeleteSecret", `{"SecretId":"s","RecoveryWindowInDays":6}`, invalid, "7 to 30"},
	{"DeleteSecret", `{"SecretId":"s","RecoveryWindowInDays":31}`, invalid, "7 to 30"},
	{"DeleteSecret", `{"SecretId":"s","RecoveryWindowInDays":7,"ForceDeleteWithoutRecovery":true}`, invalid, "in conjunction"},
	{"TagResource", `{"SecretId":"none","Tags":[{"Key":"k","Value":"v"}]}`, notFound, "can't find"},
	{"UntagResource", `{"SecretId":"s","TagKeys":[""]}`, invalid, "1 to 128"},
	{"GetRandomPassword", `{"PasswordLength":0}`, invalid, "1 to 4096"},
	{"GetRandomPassword", `{"PasswordLength":4097}`, invalid, "1 to 4096"},
	{"GetRandomPassword", `{"PasswordLength":3}`, invalid, "each of 4 types"},
	{"GetRandomPassword", `{"ExcludeLowercase":true,"ExcludeUppercase":true,"ExcludeNumbers":true,"ExcludePunctuation":true}`, invalid, "Every character is excluded"},
	{"RotateSecret", `{"SecretId":"s"}`, invalidRequest, "write a new version"},
	{"PutResourcePolicy", `{"SecretId":"s","ResourcePolicy":"{}"}`, invalidRequest, "no resource policies"},
	{"ReplicateSecretToRegions", `{"SecretId":"s"}`, invalidRequest, "every server"},
	{"SteelSecret", `{}`, wire.UnknownOperation, "CreateSecret"},
}

func TestWhatIsRefused(t *testing.T) {
	f := newFixture(t)
	f.must(t, "CreateSecret", created("s", text("kept"), withClientToken(1)))
	before := f.must(t, "DescribeSecret", `{"SecretId":"s"}`)
	for _, c := range refusals {
		got, err := f.as(admin, c.operation, c.body)
		if errorType(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s %.200s: %s, %.400v", c.operation, c.body, got, err)
		}
		if err != nil && (len(err.Error()) > 3000 || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s %.200s: the error is %.400v", c.operation, c.body, err)
		}
	}
	if got := f.must(t, "ListSecrets", `{}`); names(got) != "s" || f.must(t, "DescribeSecret", `{"SecretId":"s"}`) != before {
		t.Errorf("something was changed: %s", got)
	}
}

// A value whose key is lost is told from one that there is not.
func TestAValueThatCannotBeOpened(t *testing.T) {
	f := newFixture(t)
	f.must(t, "CreateSecret", created("s", text("v")))
	f.Lost = true
	if got, err := f.as(admin, "GetSecretValue", `{"SecretId":"s"}`); errorType(err) != decryptionFailure {
		t.Errorf("%s, %v", got, err)
	}
	if got := f.must(t, "BatchGetSecretValue", `{"SecretIdList":["s"]}`); !strings.Contains(got, `"ErrorCode":"DecryptionFailure"`) {
		t.Errorf("%s", got)
	}
}
