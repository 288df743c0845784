package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

// registeredContainer are members of the container that a command line has registered.
func (h *fakeHost) registeredContainer(t *testing.T, members ...string) string {
	t.Helper()
	container := h.body(t, "RegisterTaskDefinition")["containerDefinitions"].([]any)[0].(map[string]any)
	some := map[string]any{}
	for _, member := range members {
		some[member] = container[member]
	}
	text, err := json.Marshal(some)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const someARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:db-AbCdEf"

func TestTheTasksOfACommandLineGetSecrets(t *testing.T) {
	h := newRunHost(t, pending, exitedTask(0))
	if got := pinion(t, h, "run", "--secret", "TOKEN", "--secret", "URL="+someARN+":url::", "--secret=KEY=prod/key:3", "img"); got.code != 0 {
		t.Fatal(got)
	}
	checkEqual(t, "variables", h.registeredContainer(t, "secrets", "dockerLabels"),
		`{"dockerLabels":null,"secrets":[{"name":"TOKEN","valueFrom":"TOKEN"},{"name":"URL","valueFrom":"`+someARN+`:url::"},{"name":"KEY","valueFrom":"prod/key:3"}]}`)
	if got := pinion(t, h, "run", "-l", "who=me", "--secret", "tls.key=tls-key", "--secret-files", "/run/secrets", "img"); got.code != 0 {
		t.Fatal(got)
	}
	checkEqual(t, "files", h.registeredContainer(t, "secrets", "dockerLabels"), `{"dockerLabels":{"pinion.secret-files":"/run/secrets","who":"me"},"secrets":[{"name":"tls.key","valueFrom":"tls-key"}]}`)
}

func TestTheTasksOfAServiceGetSecrets(t *testing.T) {
	h := withService(t, steady)
	h.operations["DescribeTaskDefinition"] = always(errorReply{400, "ClientException", "Unable to describe task definition."})
	h.operations["CreateService"] = always(`{"service":` + beginning + `}`)
	if got := pinion(t, h, "service", "create", "-d", "--name", "web", "--secret", "TOKEN=hf-token", "my/server"); got.code != 0 {
		t.Fatal(got)
	}
	checkEqual(t, "secrets", h.registeredContainer(t, "secrets"), `{"secrets":[{"name":"TOKEN","valueFrom":"hf-token"}]}`)
}

func TestSecretsOfTasksThatCannotBeAreRefused(t *testing.T) {
	for line, says := range map[string]string{
		"--secret =x img":                               "is not NAME=SECRET",
		"--secret X= img":                               "is not NAME=SECRET",
		"--secret prod/key img":                         "--secret NAME=prod/key",
		"--secret A=arn:aws:s3:::bucket img":            "--secret A: valueFrom",
		"--secret A=pinion:command:vault img":           "--secret A: valueFrom",
		"--secret A=x --secret A=y img":                 "--secret A is there twice",
		"--secret A=x --env A=1 img":                    "have the same name",
		"--secret-files /run/secrets img":               "--secret-files needs the secrets",
		"--secret A=x --secret-files run img":           "absolute path",
		"--secret A=x --secret-files / img":             "absolute path",
		"--secret ../A=x --secret-files /run/s img":     "no file in --secret-files",
		"--key-id AKIA1 --secret hunter2 img":           "--key-secret",
		"--secret A=x --secret-files /run/secrets me:3": "--secret is a part of the task definition me:3",
	} {
		t.Run(line, func(t *testing.T) {
			t.Setenv("PINION_SECRET_ACCESS_KEY", "s")
			h := newRegisteredHost(t, `{"family":"me","revision":3,"containerDefinitions":[{"name":"c"}]}`)
			got := pinion(t, h, append([]string{"run"}, strings.Fields(line)...)...)
			if got.code != exit.Usage || !strings.Contains(got.err, says) || strings.Contains(got.err, "hunter2") || h.callCount("RegisterTaskDefinition")+h.callCount("RunTask") > 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// --secret is the secret of an access key, but behind commands whose tasks get secrets by it: there --key-secret is.
func TestTheSecretOfAKeyIsToldFromThoseOfTasks(t *testing.T) {
	withoutKeys(t)
	for line, actor := range map[string]string{
		"--key-id AKIAOURS --secret s run -d img":                             "AKIAOURS",
		"--key-id AKIAOURS --key-secret s run -d --secret A=b img":            "AKIAOURS",
		"run -d --key-id AKIAOURS --key-secret s --secret A=b img":            "AKIAOURS",
		"secret ls --key-id AKIAOURS --secret s":                              "AKIAOURS",
		"run -d --key-id AKIAOURS --secret s img":                             "refused",
		"service create -d --name web --key-id AKIAOURS --secret s my/server": "refused",
	} {
		h := newRunHost(t, pending, running)
		h.key, h.actors = "AKIAOURS", nil
		h.operations["ListSecrets"] = always(`{"SecretList":[]}`)
		got := pinion(t, h, strings.Fields(line)...)
		if actor == "refused" {
			if got.code != exit.Usage || !strings.Contains(got.err, "give --key-secret") || len(h.calls) > 0 {
				t.Errorf("%s: %+v", line, got)
			}
			continue
		}
		if got.code != 0 || len(h.actors) == 0 || h.actors[0] != actor {
			t.Errorf("%s: %v, %+v", line, h.actors, got)
		}
	}
}

func TestAComposeFileNamesSecretsOfThePool(t *testing.T) {
	h := withCompose(t, `
name: shop
secrets: {db: {external: true}, tls: {external: true, name: prod/tls-key}}
services:
  web:
    image: nginx
    labels: {who: me}
    secrets: [db, {source: tls, target: server.key}]
  llm:
    image: vllm
    secrets: [{source: tls, target: /run/secrets/key}]
`)
	got := pinion(t, h, "compose", "config")
	var definitions []struct {
		Containers []struct {
			Name    string            `json:"name"`
			Labels  map[string]string `json:"dockerLabels"`
			Secrets []map[string]any  `json:"secrets"`
		} `json:"containerDefinitions"`
	}
	if err := json.Unmarshal([]byte(got.out), &definitions); err != nil || len(definitions) != 2 {
		t.Fatal(got, err)
	}
	all := map[string]string{}
	for _, d := range definitions {
		c := d.Containers[0]
		all[c.Name] = fmt.Sprint(c.Labels, c.Secrets)
	}
	checkEqual(t, "web", all["web"], "map[pinion.secret-files:/run/secrets who:me] [map[name:db valueFrom:db] map[name:server.key valueFrom:prod/tls-key]]")
	checkEqual(t, "llm", all["llm"], "map[pinion.secret-files:/run/secrets] [map[name:key valueFrom:prod/tls-key]]")
}

func TestComposeRefusesSecretsThatThePoolDoesNotKeep(t *testing.T) {
	for name, c := range map[string]struct{ secret, service, says string }{
		"a file":                {"{file: ./key}", "[s]", "`pinion secret put s --file FILE`, and write external: true"},
		"a file with a name":    {"{file: ./key, name: other}", "[s]", "`pinion secret put other --file FILE`"},
		"a variable":            {"{environment: HOME}", "[s]", "pinion secret put s"},
		"one that nobody uses":  {"{file: ./key}", "[]", "pinion secret put s"},
		"a driver":              {"{external: true, driver: vault}", "[s]", "driver"},
		"another directory":     {"{external: true}", "[{source: s, target: /etc/key}]", "secrets are files in /run/secrets, such as /run/secrets/key"},
		"a directory below":     {"{external: true}", "[{source: s, target: a/key}]", "secrets are files in /run/secrets"},
		"a mode":                {"{external: true}", "[{source: s, mode: 0400}]", "secrets.mode is not supported: every process of the container may read"},
		"an owner":              {"{external: true}", "[{source: s, uid: '1000'}]", "secrets.uid is not supported"},
		"a file twice":          {"{external: true}", "[{source: s, target: key}, {source: s, target: ./key}]", "/run/secrets/key"},
		"no secret of the pool": {"{external: true, name: 'a b'}", "[s]", "the secret s: name: valueFrom"},
	} {
		h := withCompose(t, "name: shop\nsecrets: {s: "+c.secret+"}\nservices:\n  a:\n    image: i\n    secrets: "+c.service+"\n")
		got := pinion(t, h, "compose", "up", "-d")
		if got.code != exit.Usage || !strings.Contains(got.err, c.says) || len(h.bodies) > 0 {
			t.Errorf("%s: %+v %v", name, got, h.bodies)
		}
	}
}

func TestSecretsAreCompleted(t *testing.T) {
	h := newFakeHost(t)
	h.operations["ListSecrets"] = func(in map[string]any) any {
		if in["IncludePlannedDeletion"] == true {
			return `{"SecretList":[{"Name":"TOKEN"},{"Name":"old","DeletedDate":1748600000}]}`
		}
		return `{"SecretList":[{"Name":"TOKEN","Description":"of the shop"},{"Name":"prod/tls-key"}]}`
	}
	h.operations["ListClusters"] = always(`{"clusterArns":["arn:aws:ecs:us-east-1:1:cluster/default"]}`)
	for line, want := range map[string]string{
		"pinion secret get ":                   "TOKEN prod/tls-key",
		"pinion secret rm TOKEN ":              "prod/tls-key",
		"pinion secret restore ":               "old",
		"pinion secret put x --for-cluster ":   "default",
		"pinion secret get x --stage AWSC":     "AWSCURRENT",
		"pinion run --secret ":                 "TOKEN",
		"pinion run --secret K=":               "K=TOKEN K=prod/tls-key",
		"pinion service create --secret K=pro": "K=prod/tls-key",
		"pinion ps --secret ":                  "",
		"pinion run --key-sec":                 "--key-secret",
	} {
		if _, got := completed(t, h, "fish", line); strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
