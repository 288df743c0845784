package ctrd

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"
)

// registry is how one pull talks to registries: credentials, mirrors, certificates and patience.
type registry struct{ hosts docker.RegistryHosts }

// registryFor reads the configuration anew, so that a change counts for the next pull.
func (r *Runtime) registryFor(ctx context.Context, f *sharedPull) (*registry, error) {
	credentials, err := readCredentials(r.config.RegistryConfig)
	if err != nil {
		return nil, err
	}
	options := config.HostOptions{
		Credentials: credentials.forHost,
		UpdateClient: func(client *http.Client) error {
			client.Transport = r.withStallTimeout(client.Transport, f)
			return nil
		},
	}
	if r.config.RegistryConfig != "" {
		options.HostDir = config.HostDirFromRoot(filepath.Join(r.config.RegistryConfig, "certs.d"))
	}
	return &registry{hosts: config.ConfigureHosts(ctx, options)}, nil
}

// withStallTimeout makes a transport give up on a registry that does not answer, and count what it sends.
func (r *Runtime) withStallTimeout(transport http.RoundTripper, f *sharedPull) http.RoundTripper {
	plain, ok := transport.(*http.Transport)
	if !ok {
		return transport // it is patient already
	}
	plain = plain.Clone()
	plain.DialContext = (&net.Dialer{Timeout: r.config.ConnectTimeout, KeepAlive: 30 * time.Second}).DialContext
	plain.TLSHandshakeTimeout = r.config.ConnectTimeout
	plain.ResponseHeaderTimeout = r.config.StallTimeout
	return &stallTimeoutTransport{next: plain, stall: r.config.StallTimeout, received: &f.received}
}

// credentials are docker's config.json.
type credentials struct {
	Auths map[string]struct {
		Auth          string `json:"auth"` // base64 of user:password
		Username      string `json:"username"`
		Password      string `json:"password"`
		IdentityToken string `json:"identitytoken"`
	} `json:"auths"`
}

func readCredentials(dir string) (*credentials, error) {
	var c credentials
	if dir == "" {
		return &c, nil
	}
	path := filepath.Join(dir, "config.json")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("registry credentials: %w", err)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("registry credentials: %s is not what docker login writes: %w", path, err)
	}
	return &c, nil
}

// forHost answers user and password for a registry; empty means anonymous. Docker Hub is filed under an address of old.
func (c *credentials) forHost(host string) (user, password string, err error) {
	wanted := []string{host}
	if host == "registry-1.docker.io" || host == "docker.io" {
		wanted = append(wanted, "docker.io", "index.docker.io", "registry-1.docker.io")
	}
	for key, auth := range c.Auths {
		if !matchesHost(key, wanted) {
			continue
		}
		if auth.IdentityToken != "" {
			return "", auth.IdentityToken, nil
		}
		if auth.Auth == "" {
			return auth.Username, auth.Password, nil
		}
		raw, err := base64.StdEncoding.DecodeString(auth.Auth)
		user, password, found := strings.Cut(strings.TrimRight(string(raw), "\x00"), ":")
		if err != nil || !found {
			return "", "", fmt.Errorf("registry credentials: auth of %s is not base64 of user:password", key)
		}
		return user, password, nil
	}
	return "", "", nil
}

// matchesHost compares a key such as "https://index.docker.io/v1/" or "ghcr.io" with hosts.
func matchesHost(key string, hosts []string) bool {
	if _, rest, found := strings.Cut(key, "://"); found {
		key = rest
	}
	key, _, _ = strings.Cut(key, "/")
	for _, host := range hosts {
		if strings.EqualFold(key, host) {
			return true
		}
	}
	return false
}
