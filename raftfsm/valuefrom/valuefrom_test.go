package valuefrom_test

import (
	"strings"
	"testing"

	"pinion/raftfsm/valuefrom"
)

func TestWhatAValueFromNames(t *testing.T) {
	const ssm, asm = "arn:aws:ssm:eu-west-1:000000000000:parameter/", "arn:aws:secretsmanager:eu-west-1:000000000000:secret:"
	for given, want := range map[string]valuefrom.Reference{
		"db":                                {Name: "db"},
		"/prod/db":                          {Name: "/prod/db"},
		"db:3":                              {Name: "db", Version: "3"},
		ssm + "db":                          {Store: valuefrom.ParameterStore, Name: "db"},
		ssm + "prod/db":                     {Store: valuefrom.ParameterStore, Name: "/prod/db"},
		ssm + "prod/db:label":               {Store: valuefrom.ParameterStore, Name: "/prod/db", Version: "label"},
		asm + "db":                          {Store: valuefrom.SecretsManager, Name: "db"},
		asm + "prod/db-AbCdEf":              {Store: valuefrom.SecretsManager, Name: "prod/db-AbCdEf"},
		asm + "db:user::":                   {Store: valuefrom.SecretsManager, Name: "db", JSONKey: "user"},
		asm + "db:user:AWSPREVIOUS:":        {Store: valuefrom.SecretsManager, Name: "db", JSONKey: "user", Stage: "AWSPREVIOUS"},
		asm + "db:::id":                     {Store: valuefrom.SecretsManager, Name: "db", Version: "id"},
		"pinion:command:vault:kv/db#pass:1": {Store: valuefrom.Command, Name: "vault", Version: "kv/db#pass:1"},
		"arn:aws-cn:ssm:cn-north-1:1:parameter/db": {Store: valuefrom.ParameterStore, Name: "db"},
	} {
		if got, err := valuefrom.Parse(given); got != want || err != nil {
			t.Errorf("%s: %+v, %v", given, got, err)
		}
	}
	for _, wrong := range []string{
		"", ":1", "a b", "a\n", "a\x00", strings.Repeat("a", 3000), "arn:aws:s3:::bucket", "arn:aws:ssm:r:1:document/x", "arn:aws:ssm:r:1:parameter/", "arn:aws:ssm",
		asm, asm + "db:key", asm + "db:key:stage", asm + "db:key:stage:id:more", "arn:aws:secretsmanager:r:1:db", "pinion:command:vault", "pinion:command::x", "pinion:command:x:", "pinion:command:x:-address=http://evil",
		"db:", "db:password::", "db:5:x", "db:a b", "arn:aws:ssm:r:1:parameter//a", "arn:aws:ssm:r:1:parameter/a:",
	} {
		if got, err := valuefrom.Parse(wrong); err == nil {
			t.Errorf("%q: %+v", wrong, got)
		}
	}
}

func TestTheMemberOfAJSONObject(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"", `{"a":1}`, `{"a":1}`},
		{"a", `{"a":"one"}`, "one"},
		{"a", `{"a":"on\u0065\n"}`, "one\n"},
		{"a", `{"a":1000000}`, "1000000"}, // not 1e+06
		{"a", `{"a":{"b":[1, 2]}}`, `{"b":[1, 2]}`},
		{"a", `{"a":null}`, "null"},
		{"a", `{"a":"arn:aws:secretsmanager:r:1:secret:other:a::"}`, "arn:aws:secretsmanager:r:1:secret:other:a::"}, // a value is no reference
	} {
		if got, err := (valuefrom.Reference{JSONKey: c.key}).Extract(c.value); got != c.want || err != nil {
			t.Errorf("%s of %s: %q, %v", c.key, c.value, got, err)
		}
	}
	for value, key := range map[string]string{`{"a":"hunter2"}`: "b", "hunter2": "a", `["hunter2"]`: "a", `{"a":"hunter2"`: "a"} {
		if got, err := (valuefrom.Reference{JSONKey: key}).Extract(value); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s of %s: %q, %v", key, value, got, err)
		}
	}
}
