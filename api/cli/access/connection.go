package access

import (
	"context"
	"errors"
	"net"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// connectionWith is the connection string of a new key: with the host that was named, or else the address of the host on this
// machine, and with the root that signs for the pool.
func connectionWith(ctx context.Context, inv *invocation.Invocation, host string, key client.CreatedKey) (string, error) {
	ca, err := client.CAOf(ctx, inv.Client)
	if err != nil {
		return "", err
	}
	s := client.ConnectionString{KeyID: key.ID, Secret: key.Secret}
	for _, root := range ca.Roots {
		if root.Signs {
			s.CA = root.Fingerprint
		}
	}
	if host == "" {
		host, err = ownAddress(ctx, inv)
	}
	if err != nil {
		return "", err
	}
	if s.Host, err = client.Address(host); err != nil {
		return "", err
	}
	_, err = client.ParseConnectionString(s.String())
	return s.String(), err
}

// isLoopback reports whether an address is one that other machines do not reach.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// ownAddress is where other machines reach the host that answers.
func ownAddress(ctx context.Context, inv *invocation.Invocation) (string, error) {
	id, err := inv.Client.HostID(ctx)
	if err != nil {
		return "", err
	}
	hosts, err := inv.Client.Hosts(ctx)
	if err != nil {
		return "", err
	}
	for i := range hosts {
		if hosts[i].ID == id {
			return hosts[i].Address, nil
		}
	}
	return "", errors.New("the host that answers is not in the pool's list of hosts")
}
