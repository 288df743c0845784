package client

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// A list of secrets is read to its last page, as what the caller wants of it.
func TestSecretsAreReadPageByPage(t *testing.T) {
	pages := []string{`{"SecretList":[{"Name":"a","DeletedDate":1748600000.5}],"NextToken":"more"}`, `{"SecretList":[{"Name":"b","Later":1}]}`}
	var asked []string
	c := newClient(t, serveHost(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.Path+string(body))
		io.WriteString(w, pages[(len(asked)-1)%len(pages)])
	}))
	secrets, err := Secrets[Secret](t.Context(), c, true)
	if err != nil || len(secrets) != 2 || secrets[0].DeletedAt.UnixMilli() != 1748600000500 || !secrets[1].DeletedAt.IsZero() {
		t.Errorf("%+v, %v", secrets, err)
	}
	if len(asked) != 2 || asked[0] != `/v1/ListSecrets{"IncludePlannedDeletion":true,"MaxResults":100}` || asked[1] != `/v1/ListSecrets{"IncludePlannedDeletion":true,"MaxResults":100,"NextToken":"more"}` {
		t.Errorf("asked %q", asked)
	}
	whole, err := Secrets[json.RawMessage](t.Context(), c, false)
	if err != nil || len(whole) != 2 || string(whole[1]) != `{"Name":"b","Later":1}` {
		t.Errorf("%s, %v", whole, err)
	}
}
