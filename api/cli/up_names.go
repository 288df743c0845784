package cli

import (
	"net"
	"net/netip"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
)

// NameOptions is how a host has the names of Service Connect.
type NameOptions struct {
	// Addresses is the range of virtual addresses, an IPv4 network. Zero: 198.18.0.0/15.
	Addresses netip.Prefix
	// Listen is where the host answers DNS for machines that are no hosts, "host:port". Empty: nowhere.
	Listen string
}

// nameFlags are the flags of `pinion up` that are parsed into NameOptions.
type nameFlags struct{ addresses string }

func (f *nameFlags) flags(o *NameOptions) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "virtual-addresses", Destination: &f.addresses, Usage: "IPv4 `NETWORK`, /24 or larger, that names of services have their addresses from on this host; without it 198.18.0.0/15"},
		&cli.StringFlag{Name: "dns-listen", Destination: &o.Listen, Usage: "answer DNS for the names of services at `HOST:PORT`, for machines that are no hosts of the pool"},
	}
}

// complete checks the form of the options.
func (f *nameFlags) complete(o *NameOptions) (err error) {
	if f.addresses != "" {
		if o.Addresses, err = netip.ParsePrefix(f.addresses); err != nil || !o.Addresses.Addr().Is4() || o.Addresses != o.Addresses.Masked() || o.Addresses.Bits() > 24 {
			return exit.Usagef("--virtual-addresses %q is not an IPv4 network of 256 addresses or more, such as 198.18.0.0/15", f.addresses)
		}
	}
	if o.Listen == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return exit.Usagef("--dns-listen %q is not HOST:PORT, such as 10.0.0.1:53", o.Listen)
	}
	return nil
}
