package cli

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/api/cli/exit"
	"pinion/api/cli/table"
)

// secretsHost is a host that keeps secrets as Secrets Manager does: their versions by name, and what was asked by operation.
type secretsHost struct {
	*fakeHost
	versions map[string][]map[string]any
	tags     map[string]any
}

func newSecretsHost(t *testing.T) *secretsHost {
	t.Helper()
	h := &secretsHost{newFakeHost(t), map[string][]map[string]any{}, map[string]any{}}
	add := func(name string, in map[string]any) any {
		h.versions[name] = append(h.versions[name], in)
		return map[string]any{"ARN": "arn:aws:secretsmanager:us-east-1:1:secret:" + name + "-AbCdEf", "Name": name, "VersionId": fmt.Sprintf("version-%d", len(h.versions[name]))}
	}
	h.operations["CreateSecret"] = func(in map[string]any) any {
		name := in["Name"].(string)
		if h.versions[name] != nil {
			return errorReply{400, "ResourceExistsException", "The operation failed because the secret " + name + " already exists."}
		}
		h.tags[name] = in["Tags"]
		return add(name, in)
	}
	again := func(in map[string]any) any { return add(in["SecretId"].(string), in) }
	h.operations["PutSecretValue"], h.operations["UpdateSecret"] = again, again
	h.operations["DescribeSecret"] = func(in map[string]any) any {
		name := in["SecretId"].(string)
		return map[string]any{"Name": name, "Tags": h.tags[name], "Clusters": namesIn(h.tags[name], "pinion.clusters"), "Teams": namesIn(h.tags[name], "pinion.teams")}
	}
	h.operations["GetSecretValue"] = func(in map[string]any) any {
		all := h.versions[in["SecretId"].(string)]
		if all == nil {
			return errorReply{400, "ResourceNotFoundException", "Secrets Manager can't find the specified secret."}
		}
		return all[len(all)-1]
	}
	return h
}

// namesIn are the names in a tag of a request.
func namesIn(tags any, key string) []string {
	list, _ := tags.([]any)
	for _, tag := range list {
		if tag := tag.(map[string]any); tag["Key"] == key {
			return strings.Fields(tag["Value"].(string))
		}
	}
	return nil
}

// pinionReading runs a command line with something at its standard input.
func pinionReading(t *testing.T, h *fakeHost, input string, arguments ...string) result {
	t.Helper()
	var out, err safeBuffer
	app := New(Program{})
	app.Writer, app.ErrWriter, app.Reader = &out, &err, strings.NewReader(input)
	code := exit.Report(&err, runLine(context.Background(), app, append([]string{"pinion", "--data-dir", h.dir}, arguments...)))
	return result{code: code, out: out.String(), err: err.String()}
}

func TestASecretIsPutAndPutAgain(t *testing.T) {
	h := newSecretsHost(t)
	got := pinionReading(t, h.fakeHost, "pass\nword", "secret", "put", "db", "--description", "of the shop", "--for-cluster", "lab", "--for-cluster", "web", "--for-team", "vision,speech")
	checkEqual(t, "put", got.out+got.err, "db version-1\n")
	in := h.body(t, "CreateSecret")
	if token, _ := in["ClientRequestToken"].(string); len(token) != 36 {
		t.Errorf("the token %q", token)
	}
	delete(in, "ClientRequestToken")
	checkEqual(t, "created", fmt.Sprint(in), "map[Description:of the shop Name:db SecretString:pass\nword Tags:[map[Key:pinion.clusters Value:lab web] map[Key:pinion.teams Value:vision speech]]]")

	token := h.body(t, "CreateSecret")["ClientRequestToken"]
	if got := pinionReading(t, h.fakeHost, "other", "secret", "put", "db"); got.out != "db version-2\n" || h.body(t, "PutSecretValue")["SecretString"] != "other" {
		t.Errorf("put again: %+v", got)
	}
	if again := h.body(t, "PutSecretValue")["ClientRequestToken"]; again == token || again != h.body(t, "CreateSecret")["ClientRequestToken"] {
		t.Errorf("both requests of a command are one, those of two are two: %v", again)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("a\xff\x00b"), 0o600); err != nil {
		t.Fatal(err)
	}
	got = pinionReading(t, h.fakeHost, "not this", "secret", "put", "db", "--file", file, "--description", "a key", "--for-cluster", "web,lab", "--for-team", "speech", "--for-team", "vision", "-o", "json")
	if in := h.body(t, "UpdateSecret"); got.code != 0 || in["SecretBinary"] != base64.StdEncoding.EncodeToString([]byte("a\xff\x00b")) || in["Description"] != "a key" || in["SecretString"] != nil {
		t.Errorf("of a file: %+v, %v", got, in)
	}
	if !strings.Contains(got.out, `"VersionId": "version-3"`) {
		t.Errorf("as JSON: %s", got.out)
	}
}

// A line end is a part of the value wherever it comes from, and of one that looks like a mistake that is said.
func TestALineEndOfASecretIsKeptAndSaid(t *testing.T) {
	for input, said := range map[string]bool{"word\n": true, "-----BEGIN-----\nMII\n": false, "word": false} {
		h := newSecretsHost(t)
		got := pinionReading(t, h.fakeHost, input, "secret", "put", "db", "--file", "-")
		if value := h.body(t, "CreateSecret")["SecretString"]; got.code != 0 || value != input || strings.Contains(got.err, "line end") != said {
			t.Errorf("%q became %q: %+v", input, value, got)
		}
	}
}

func TestASecretIsNotPutWhen(t *testing.T) {
	for name, c := range map[string]struct {
		line, input, says string
		code              int
	}{
		"the value is an argument":      {"secret put db hunter2", "x", "the value comes from standard input", exit.Usage},
		"the value is behind a =":       {"secret put db=hunter2", "x", "the value comes from standard input", exit.Usage},
		"there is no value":             {"secret put db", "", "standard input has no value for db", exit.Usage},
		"the value is too long":         {"secret put db", strings.Repeat("x", 64<<10+1), "more than 65536 bytes", exit.Usage},
		"the file is not there":         {"secret put db --file /nowhere", "x", "--file: open /nowhere", exit.Failure},
		"no cluster is named":           {"secret put db --for-cluster ,", "x", "needs the name of a cluster", exit.Usage},
		"no team is named":              {"secret put db --for-team ,", "x", "needs the name of a team", exit.Usage},
		"it is for other clusters":      {"secret put old --for-cluster web", "x", "it exists for lab", exit.Failure},
		"it is for all teams":           {"secret put old --for-team vision", "x", "it exists for all teams", exit.Failure},
		"the key may not know of it":    {"secret put foreign", "x", "choose another name", exit.Failure},
		"the host has something else":   {"secret put refused", "x", "The parameter name is wrong", exit.Failure},
		"it is --value of another tool": {"secret put db --value x", "x", "no option --value", exit.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			h := newSecretsHost(t)
			h.versions["old"], h.tags["old"] = []map[string]any{{}}, []any{map[string]any{"Key": "pinion.clusters", "Value": "lab"}}
			h.versions["foreign"] = []map[string]any{{}}
			h.operations["PutSecretValue"] = always(errorReply{400, "ResourceNotFoundException", "Secrets Manager can't find the specified secret."})
			create := h.operations["CreateSecret"]
			h.operations["CreateSecret"] = func(in map[string]any) any {
				if in["Name"] == "refused" {
					return errorReply{400, "InvalidParameterException", "The parameter name is wrong."}
				}
				return create(in)
			}
			got := pinionReading(t, h.fakeHost, c.input, strings.Fields(c.line)...)
			if got.code != c.code || !strings.Contains(got.err, c.says) || strings.Contains(got.err, "hunter2") || len(h.versions) != 2 {
				t.Errorf("%+v, %d secrets", got, len(h.versions))
			}
		})
	}
}

func TestTheValueOfASecretIsPrintedAloneAndWhole(t *testing.T) {
	terminal := Program{}
	terminal.system.Screen = &table.Screen{Terminal: true, Columns: 80}
	for name, c := range map[string]struct{ value, piped, shown string }{
		"a word":       {`{"SecretString":"word"}`, "word", "word\n"},
		"lines":        {`{"SecretString":"one\ntwo\n"}`, "one\ntwo\n", "one\ntwo\n"},
		"bytes":        {`{"SecretBinary":"/wA="}`, "\xff\x00", ""},
		"an escape":    {`{"SecretString":"\u001b[2J"}`, "\x1b[2J", ""},
		"empty binary": {`{"SecretBinary":""}`, "", "\n"},
	} {
		h := newFakeHost(t)
		h.operations["GetSecretValue"] = always(c.value)
		checkEqual(t, name, pinion(t, h, "secret", "get", "db").out, c.piped)
		got := pinionWith(t, terminal, h, "secret", "get", "db")
		checkEqual(t, name+" on a terminal", got.out, c.shown)
		if c.shown == "" && !strings.Contains(got.err, "> FILE") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	h := newSecretsHost(t)
	h.versions["db"] = []map[string]any{{"Name": "db", "SecretString": "word", "Later": 1}}
	got := pinion(t, h.fakeHost, "secret", "get", "db", "--version", "v1", "--stage", "AWSPREVIOUS", "-o", "json")
	checkEqual(t, "as JSON", got.out, "{\n  \"Later\": 1,\n  \"Name\": \"db\",\n  \"SecretString\": \"word\"\n}\n")
	checkEqual(t, "asked", h.bodies["GetSecretValue"], `{"SecretId":"db","VersionId":"v1","VersionStage":"AWSPREVIOUS"}`)
	if got := pinion(t, h.fakeHost, "secret", "get", "nothing"); got.code != exit.Failure || got.err != "pinion: secret nothing: Secrets Manager can't find the specified secret.\n" {
		t.Errorf("%+v", got)
	}
	removed := errorReply{400, "InvalidRequestException", "You can't perform this operation on the secret because it was marked for deletion."}
	h.operations["GetSecretValue"], h.operations["CreateSecret"] = always(removed), always(removed)
	h.operations["DescribeSecret"] = always(`{"Name":"old","DeletedDate":1748600000}`)
	for _, verb := range []string{"get", "put"} {
		if got := pinionReading(t, h.fakeHost, "x", "secret", verb, "old"); got.code != exit.Failure || !strings.Contains(got.err, "it was removed: `pinion secret restore old`") {
			t.Errorf("%s of a removed one: %+v", verb, got)
		}
	}
	if got := pinion(t, h.fakeHost, "secret", "get", "a", "b"); got.code != exit.Usage {
		t.Errorf("two: %+v", got)
	}
}

func TestSecretsAreListedWithAllPages(t *testing.T) {
	h := newFakeHost(t)
	h.operations["ListSecrets"] = func(in map[string]any) any {
		if in["NextToken"] == nil {
			return `{"SecretList":[{"ARN":"a","Name":"db/url","Description":"of the shop","LastChangedDate":1748775600.5,"Tags":[{"Key":"team","Value":"x"}],"Clusters":["lab","web"],"Teams":["vision"]}],"NextToken":"more"}`
		}
		removed := `{"Name":"old","LastChangedDate":1748779199,"DeletedDate":1748600000}`
		return `{"SecretList":[` + map[bool]string{true: removed, false: `{"Name":"token"}`}[in["IncludePlannedDeletion"] == true] + `]}`
	}
	for line, want := range map[string]string{
		"secret ls -a --utc": "NAME    CLUSTERS  TEAMS   CHANGED  REMOVED  DESCRIPTION\ndb/url  lab,web   vision  59m      -        of the shop\nold     all       all     1s       2d\n",
		"secrets -q":         "db/url\ntoken\n",
		"secret ls --format {{.NAME}}={{.CLUSTERS}} --filter clusters=*lab*": "db/url=lab,web\n",
		"secret ls --filter Name=token -o json":                              "[\n  {\n    \"Name\": \"token\"\n  }\n]\n",
	} {
		checkEqual(t, line, pinion(t, h, strings.Fields(line)...).out, want)
	}
	h.operations["ListSecretVersionIds"] = always(`{"Name":"db","Versions":[{"VersionId":"v1","CreatedDate":1748700000},{"VersionId":"v2","VersionStages":["AWSCURRENT","blue"],"CreatedDate":1748775600}]}`)
	checkEqual(t, "versions", pinion(t, h, "secret", "versions", "db").out, "VERSION  AGE  STAGES\nv2       60m  AWSCURRENT,blue\nv1       22h\n")
	if in := h.body(t, "ListSecretVersionIds"); in["SecretId"] != "db" || in["IncludeDeprecated"] != true {
		t.Errorf("%v", in)
	}
	h.operations["ListSecrets"] = always(`{"SecretList":[]}`)
	if got := pinion(t, h, "secret"); !strings.Contains(got.err, "no secrets; `pinion secret put NAME` makes one") {
		t.Errorf("%+v", got)
	}
}

func TestSecretsAreRemovedAndRestored(t *testing.T) {
	h := newFakeHost(t)
	h.operations["DeleteSecret"] = always(`{"Name":"db","DeletionDate":1751371200}`)
	h.operations["RestoreSecret"] = always(`{"Name":"db"}`)
	for line, c := range map[string]struct{ operation, body, out, err string }{
		"secret rm db --utc":        {"DeleteSecret", `{"SecretId":"db"}`, "db\n", "It can be restored until 2025-07-01 12:00:00Z: `pinion secret restore db`.\n"},
		"secret rm --days 7 db":     {"DeleteSecret", `{"RecoveryWindowInDays":7,"SecretId":"db"}`, "db\n", "pinion secret restore db"},
		"secret rm --force a b":     {"DeleteSecret", `{"ForceDeleteWithoutRecovery":true,"SecretId":"b"}`, "a\nb\n", ""},
		"secret restore db":         {"RestoreSecret", `{"SecretId":"db"}`, "db\n", ""},
		"secret restore db -o json": {"RestoreSecret", `{"SecretId":"db"}`, "[\n  {\n    \"Name\": \"db\"\n  }\n]\n", ""},
	} {
		got := pinion(t, h, strings.Fields(line)...)
		checkEqual(t, line, got.out, c.out)
		checkEqual(t, line, h.bodies[c.operation], c.body)
		if !strings.Contains(got.err, c.err) || c.err == "" && got.err != "" {
			t.Errorf("%s: %s", line, got.err)
		}
	}
	h.calls = nil
	for _, line := range []string{"secret rm --days 6 db", "secret rm --days 31 db", "secret rm --days 7 --force db", "secret rm", "secret delete db"} {
		if got := pinion(t, h, strings.Fields(line)...); got.code != exit.Usage || slices.Contains(h.calls, "DeleteSecret") {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestAtATerminalTheValueOfASecretIsAskedFor(t *testing.T) {
	person, program := terminals(t)
	if _, err := person.WriteString("typed here\n"); err != nil {
		t.Fatal(err)
	}
	h := newSecretsHost(t)
	var out, notes safeBuffer
	app := New(Program{})
	app.Writer, app.ErrWriter, app.Reader = &out, &notes, program
	if err := runLine(t.Context(), app, []string{"pinion", "--data-dir", h.dir, "secret", "put", "db"}); err != nil {
		t.Fatal(err)
	}
	if value := h.body(t, "CreateSecret")["SecretString"]; value != "typed here" || notes.String() != "Value of db, which is not shown: \n" {
		t.Errorf("%q after %q", value, notes.String())
	}
}
