package images

import (
	"fmt"
	"path/filepath"
	"time"

	dockerconfig "github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/config/types"
)

// helperTimeout bounds one run of a credential helper.
const helperTimeout = 30 * time.Second

// logins are the registry logins of docker's config.json: stored ones (auths), and credential helpers (credHelpers,
// credsStore) such as docker-credential-ecr-login, which are found in Pinion's PATH.
//
// go-containerregistry's keychain reads the same file with the same library, but finds it through docker's environment
// variables only; here the operator names the directory.
type logins struct {
	file *configfile.ConfigFile // nil: no logins
}

// readLogins reads config.json in a directory; a missing file means no logins.
func readLogins(dir string) (*logins, error) {
	if dir == "" {
		return &logins{}, nil
	}
	file, err := dockerconfig.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("registry credentials: %s is not what docker login writes: %w", filepath.Join(dir, "config.json"), err)
	}
	return &logins{file: file}, nil
}

// dockerHubKeys are the names for logins of Docker Hub in the file; docker login writes the first.
var dockerHubKeys = []string{"https://index.docker.io/v1/", "docker.io", "index.docker.io", "registry-1.docker.io"}

// forHost returns user and password for a registry; both are empty for an anonymous request. An identity token has no user.
func (l *logins) forHost(host string) (user, password string, err error) {
	if l.file == nil {
		return "", "", nil
	}
	keys := []string{host}
	if host == "registry-1.docker.io" || host == "docker.io" {
		keys = dockerHubKeys
	}
	for _, key := range keys {
		login, err := l.get(key)
		if login == (types.AuthConfig{ServerAddress: login.ServerAddress}) && err == nil {
			login = l.file.AuthConfigs[key] // docker itself looks up only one name of Docker Hub
		}
		switch {
		case err != nil:
			return "", "", fmt.Errorf("registry credentials of %s: %w", key, err)
		case login.IdentityToken != "":
			return "", login.IdentityToken, nil
		case login.Username != "" || login.Password != "":
			return login.Username, login.Password, nil
		}
	}
	return "", "", nil
}

// get reads one login from the file or from the helper.
func (l *logins) get(key string) (types.AuthConfig, error) {
	type answer struct {
		login types.AuthConfig
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		login, err := l.file.GetAuthConfig(key)
		answered <- answer{login, err}
	}()
	timeout := time.NewTimer(helperTimeout)
	defer timeout.Stop()
	select {
	case a := <-answered:
		return a.login, a.err
	case <-timeout.C:
		return types.AuthConfig{}, fmt.Errorf("the credential helper did not answer within %v", helperTimeout)
	}
}
