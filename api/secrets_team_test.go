package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/raftfsm/accesskey"
)

// Keys of two teams of one cluster, by every way that requests about secrets take: what one team keeps the other neither lists nor reads nor replaces.
func TestAKeyForATeamHasItsOwnSecretsByEveryWay(t *testing.T) {
	b := newSecretsFixture(t)
	vision := b.withKey(t, accesskey.Key{ID: "AKIAVISION", Role: accesskey.RoleSubmit, Cluster: "lab", Grant: accesskey.Grant{Teams: []string{"vision"}}})
	speech := b.withKey(t, accesskey.Key{ID: "AKIASPEECH", Role: accesskey.RoleAdmin, Cluster: "lab", Grant: accesskey.Grant{Teams: []string{"speech"}}})
	unbound := b.withKey(t, accesskey.Key{ID: "AKIALAB", Role: accesskey.RoleSubmit, Cluster: "lab"})
	for way, send := range map[string]func(bearer, target, body string) reply{
		"protocol": func(bearer, target, body string) reply { return b.serve(ofService(bearer, target, body)) },
		"path": func(bearer, target, body string) reply {
			_, operation, _ := strings.Cut(target, ".")
			return b.as(bearer, httptest.NewRequest("POST", "/v1/"+operation, strings.NewReader(body)))
		},
	} {
		for _, c := range []struct{ bearer, target, body, has string }{
			{vision, "secretsmanager.CreateSecret", `{"Name":"NAME","SecretString":"hunter2"}`, `"Name":"NAME"`},
			{vision, "AmazonSSM.PutParameter", `{"Name":"NAME","Value":"hunter2","Type":"SecureString"}`, `"Version":1`},
			{vision, "secretsmanager.ListSecrets", `{}`, `"Teams":["vision"]`},
			{vision, "secretsmanager.GetSecretValue", `{"SecretId":"NAME"}`, "hunter2"},
			{unbound, "AmazonSSM.GetParameter", `{"Name":"NAME","WithDecryption":true}`, "hunter2"},
			{speech, "secretsmanager.ListSecrets", `{}`, `{"SecretList":[]}`},
			{speech, "AmazonSSM.DescribeParameters", `{}`, `{"Parameters":[]}`},
			{speech, "secretsmanager.GetSecretValue", `{"SecretId":"NAME"}`, "ResourceNotFoundException"},
			{speech, "AmazonSSM.GetParameter", `{"Name":"NAME","WithDecryption":true}`, "ParameterNotFound"},
			{speech, "secretsmanager.PutSecretValue", `{"SecretId":"NAME","SecretString":"mine"}`, "ResourceNotFoundException"},
			{speech, "secretsmanager.CreateSecret", `{"Name":"NAME","SecretString":"mine"}`, "ResourceExistsException"},
			{speech, "AmazonSSM.PutParameter", `{"Name":"NAME","Value":"mine","Type":"String","Overwrite":true}`, "ParameterAlreadyExists"},
			{speech, "AmazonSSM.DeleteParameter", `{"Name":"NAME"}`, "ParameterNotFound"},
			{vision, "secretsmanager.GetSecretValue", `{"SecretId":"NAME"}`, "hunter2"},
			{vision, "secretsmanager.DeleteSecret", `{"SecretId":"NAME"}`, `"Name":"NAME"`},
		} {
			got := send(c.bearer, c.target, strings.ReplaceAll(c.body, "NAME", way)).Body.String()
			if !strings.Contains(got, strings.ReplaceAll(c.has, "NAME", way)) || c.bearer == speech && strings.Contains(got, "vision") {
				t.Errorf("%s: %s of %s: %s", way, c.target, c.bearer[:17], got)
			}
		}
	}
}
