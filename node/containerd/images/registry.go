package images

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"syscall"
	"time"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"
)

// registry is the configuration of one pull: credentials, mirrors, certificates and timeouts.
type registry struct{ hosts docker.RegistryHosts }

// registryFor reads the configuration anew, so that a change takes effect at the next pull. The credentials of a task are for the registry of
// its image: a mirror of it gets those that the host has for the mirror.
func (s *Store) registryFor(ctx context.Context, f *sharedPull, domain string) (*registry, error) {
	logins, err := readLogins(s.config.RegistryConfig)
	if err != nil {
		return nil, err
	}
	options := config.HostOptions{
		Credentials: func(host string) (user, password string, err error) {
			if f.login != nil && (host == domain || domain == "docker.io" && host == "registry-1.docker.io") {
				return f.login.Username, f.login.Password, nil
			}
			return logins.forHost(host)
		},
		UpdateClient: func(client *http.Client) error {
			client.Transport = s.withStallTimeout(client.Transport, f)
			return nil
		},
	}
	if s.config.RegistryConfig != "" {
		options.HostDir = config.HostDirFromRoot(filepath.Join(s.config.RegistryConfig, "certs.d"))
	}
	return &registry{hosts: rememberHosts(config.ConfigureHosts(ctx, options))}, nil
}

// withStallTimeout wraps a transport: requests to a registry that does not answer time out, and received bytes are counted.
func (s *Store) withStallTimeout(transport http.RoundTripper, f *sharedPull) http.RoundTripper {
	plain, ok := transport.(*http.Transport)
	if !ok {
		return transport // it has the timeout already
	}
	plain = plain.Clone()
	plain.DialContext = (&net.Dialer{Timeout: s.config.ConnectTimeout, KeepAlive: 30 * time.Second, Control: refuseMetadata}).DialContext
	plain.TLSHandshakeTimeout = s.config.ConnectTimeout
	plain.ResponseHeaderTimeout = s.config.StallTimeout
	plain.MaxResponseHeaderBytes = maxHeader
	return &stallTimeoutTransport{next: plain, stall: s.config.StallTimeout, received: &f.received, pace: &f.pace}
}

// maxHeader bounds the headers of one answer. Go's own bound lets an answer of short lines take hundreds of megabytes.
const maxHeader = 64 << 10

// refuseMetadata refuses to connect to where clouds serve a machine its own credentials. A name or a redirect leads there as well as
// an address does.
func refuseMetadata(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if a := to.Addr().Unmap(); a.IsLinkLocalUnicast() || a == metadataIPv6 {
		return fmt.Errorf("%s is a link-local or metadata address, where no registry is", a)
	}
	return nil
}

// metadataIPv6 is the address of EC2's metadata service, the only one outside the link-local networks.
var metadataIPv6 = netip.MustParseAddr("fd00:ec2::254")
