package images

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func loginsOf(t *testing.T, config string) (*logins, error) {
	t.Helper()
	dir := t.TempDir()
	if config != "" {
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return readLogins(dir)
}

func TestStoredLogins(t *testing.T) {
	auth := base64.StdEncoding.EncodeToString([]byte("me:secret"))
	for name, c := range map[string]struct{ config, host, user, password string }{
		"no file":                {"", "ghcr.io", "", ""},
		"another registry":       {`{"auths":{"ghcr.io":{"auth":"` + auth + `"}}}`, "quay.io", "", ""},
		"by name":                {`{"auths":{"ghcr.io":{"auth":"` + auth + `"}}}`, "ghcr.io", "me", "secret"},
		"by address":             {`{"auths":{"https://ghcr.io/v2/":{"auth":"` + auth + `"}}}`, "ghcr.io", "me", "secret"},
		"with a port":            {`{"auths":{"127.0.0.1:5000":{"auth":"` + auth + `"}}}`, "127.0.0.1:5000", "me", "secret"},
		"user and password":      {`{"auths":{"ghcr.io":{"username":"me","password":"secret"}}}`, "ghcr.io", "me", "secret"},
		"Docker Hub":             {`{"auths":{"https://index.docker.io/v1/":{"auth":"` + auth + `"}}}`, "registry-1.docker.io", "me", "secret"},
		"Docker Hub by its name": {`{"auths":{"docker.io":{"auth":"` + auth + `"}}}`, "registry-1.docker.io", "me", "secret"},
		"an identity token":      {`{"auths":{"ghcr.io":{"identitytoken":"token"}}}`, "ghcr.io", "", "token"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := loginsOf(t, c.config)
			if err != nil {
				t.Fatal(err)
			}
			if user, password, err := l.forHost(c.host); user != c.user || password != c.password || err != nil {
				t.Errorf("got %q, %q, %v", user, password, err)
			}
		})
	}
}

func TestADamagedLoginIsRefused(t *testing.T) {
	for _, config := range []string{"not json", `{"auths":{"ghcr.io":{"auth":"%%%"}}}`, `{"auths":{"ghcr.io":{"auth":"bm9jb2xvbg=="}}}`} {
		if _, err := loginsOf(t, config); err == nil || !strings.Contains(err.Error(), "docker login") {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// Credential helpers give the logins of ECR, GCR and the like.
func TestCredentialHelpers(t *testing.T) {
	bin := t.TempDir()
	helper := "#!/bin/sh\nread host\necho '{\"ServerURL\":\"'$host'\",\"Username\":\"AWS\",\"Secret\":\"of '$host'\"}'\n"
	if err := os.WriteFile(filepath.Join(bin, "docker-credential-test"), []byte(helper), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	const registry = "1234.dkr.ecr.eu-west-1.amazonaws.com"
	for name, config := range map[string]string{
		"for one registry": `{"credHelpers":{"` + registry + `":"test"}}`, "for all": `{"credsStore":"test"}`,
	} {
		l, err := loginsOf(t, config)
		if err != nil {
			t.Fatal(err)
		}
		if user, password, err := l.forHost(registry); user != "AWS" || password != "of "+registry || err != nil {
			t.Errorf("%s: got %q, %q, %v", name, user, password, err)
		}
	}
	l, err := loginsOf(t, `{"credHelpers":{"`+registry+`":"missing"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.forHost(registry); err == nil || !strings.Contains(err.Error(), "docker-credential-missing") {
		t.Errorf("a missing helper: %v", err)
	}
}
