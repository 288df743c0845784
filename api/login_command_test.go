package api

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/api/cli"
	"pinion/api/openid/openidtest"
	"pinion/raftfsm/accesskey"
)

// commandLine runs pinion as a user of this machine with a directory of their own.
type commandLine struct{ flags []string }

func (c commandLine) run(t *testing.T, arguments ...string) (answer, notes string, err error) {
	t.Helper()
	var out, beside bytes.Buffer
	app := cli.New(cli.Program{Version: "1.2.3"})
	app.Writer, app.ErrWriter = &out, &beside
	err = app.RunContext(t.Context(), append(append([]string{"pinion"}, c.flags...), arguments...))
	return out.String(), beside.String(), err
}

func (c commandLine) must(t *testing.T, arguments ...string) (answer string) {
	t.Helper()
	answer, notes, err := c.run(t, arguments...)
	if err != nil {
		t.Fatalf("%q: %v\n%s", arguments, err, notes)
	}
	return answer
}

// newLoginServer serves a pool over TLS beside an issuer. at are the options that reach it, and dir is where logins are kept.
func newLoginServer(t *testing.T) (admin commandLine, at []string, idp *openidtest.Issuer, dir string) {
	t.Helper()
	for _, name := range []string{"PINION_HOST", "PINION_CA", "PINION_DATA_DIR", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CA_BUNDLE", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	dir, idp = t.TempDir(), openidtest.New(t)
	b := newFixture(t)
	t.Setenv("XDG_CONFIG_HOME", dir)
	b.config.Now = time.Now
	b.config.Admin.Keys = &fakeKeyStore{fakeStore: b.fakeStore, clock: time.Now}
	b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	server := httptest.NewUnstartedServer(NewHandler(b.config))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	at = []string{"--host", strings.TrimPrefix(server.URL, "https://"), "--ca", ca}
	return commandLine{append(at, "--key-id", "AKIAADMIN", "--secret", secret)}, at, idp, dir
}

// Whoever has no mapped group any more cannot log in, and those who have logged in before work on until an administrator removes their keys.
func TestAGroupThatIsUnmappedLogsNobodyInAnyMore(t *testing.T) {
	admin, at, idp, _ := newLoginServer(t)
	person := commandLine{}
	admin.must(t, "oidc", "set", "--issuer", idp.URL, "--client-id", openidtest.ClientID)
	admin.must(t, "oidc", "map", "--role", "submit", "lab")
	logIn := func() error {
		idp.LogsIn(openidtest.Claims{"email": "alice@example.com", "groups": []string{"lab", "Admins"}})
		_, _, err := commandLine{at}.run(t, "login")
		return err
	}
	if err := logIn(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := admin.run(t, "oidc", "unmap", "LAB"); err == nil {
		t.Error("a group of another name is unmapped")
	}
	admin.must(t, "oidc", "unmap", "lab")
	admin.must(t, "oidc", "map", "--role", "admin", "admins")
	if err := logIn(); err == nil || !strings.Contains(err.Error(), "Admins") {
		t.Errorf("without a mapped group: %v", err)
	}
	person.must(t, "ps")
	if _, _, err := person.run(t, "keys", "ls"); err == nil {
		t.Error("a group gives what one gives whose name differs in upper case")
	}
}

// The whole way: an administrator names the issuer, a person logs in there with the command line, and works with no further option.
func TestAPersonLogsInWithTheCommandLine(t *testing.T) {
	admin, at, idp, dir := newLoginServer(t)
	person := commandLine{}
	admin.must(t, "oidc", "set", "--issuer", idp.URL, "--client-id", openidtest.ClientID, "--lifetime", "1h")
	admin.must(t, "oidc", "map", "--role", "submit", "--cluster", "default", "--max-gpus", "8", "lab")

	idp.LogsIn(openidtest.Claims{"email": "alice@example.com", "groups": []string{"lab"}})
	answer, notes, err := commandLine{at}.run(t, "login")
	if err != nil || !strings.Contains(answer, "alice@example.com") || !strings.Contains(notes, "ABCD-EFGH") || !strings.Contains(notes, idp.URL+"/enter") {
		t.Fatalf("%s\n%s\n%v", answer, notes, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "pinion", "login.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	person.must(t, "ps")
	if _, _, err := person.run(t, "keys", "ls"); err == nil || !strings.Contains(err.Error(), "role admin") {
		t.Errorf("a person who may submit lists keys: %v", err)
	}
	if listed := admin.must(t, "keys", "ls"); !strings.Contains(listed, "alice@example.com") {
		t.Errorf("%s", listed)
	}
	var credentials struct {
		Version                      int
		AccessKeyID, SecretAccessKey string
		Expiration                   time.Time
	}
	if err := json.Unmarshal([]byte(person.must(t, "login", "--print")), &credentials); err != nil || credentials.Version != 1 || credentials.SecretAccessKey != secret ||
		time.Until(credentials.Expiration) > time.Hour || time.Until(credentials.Expiration) < 30*time.Minute {
		t.Errorf("%+v %v", credentials, err)
	}
	if environment := person.must(t, "env"); !strings.Contains(environment, credentials.AccessKeyID) || !strings.Contains(environment, "https://"+at[1]) || !strings.Contains(environment, dir) {
		t.Errorf("%s", environment)
	}

	idp.LogsIn(openidtest.Claims{"email": "mallory@example.com", "groups": []string{"others"}})
	if answer, _, err := person.run(t, "login"); err == nil || !strings.Contains(err.Error(), "others") || !strings.Contains(err.Error(), "lab") {
		t.Errorf("%s %v", answer, err)
	}
	admin.must(t, "keys", "rm", credentials.AccessKeyID)
	if _, _, err := person.run(t, "ps"); err == nil {
		t.Error("a removed key still works")
	}
}
