package cli

import (
	"net/url"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/raftfsm/iplease"
)

// TrafficOptions is how a host carries the traffic of load balancers.
type TrafficOptions struct {
	// AccessLog has the host log each request that its proxy carries.
	AccessLog bool
	// VirtualIPs are the addresses that the host offers to hold for the pool.
	VirtualIPs []iplease.Offer
	// ACME is where the certificates of listeners come from that come by ACME.
	ACME ACMEOptions
}

// ACMEOptions is the CA that a host asks for the certificates of listeners that come by ACME.
type ACMEOptions struct {
	// Directory is the URL of the CA's directory. Empty: the host asks none.
	Directory string
	// Email is where the CA writes when something is wrong with a certificate. It may be empty.
	Email string
	// CA is a file with the root certificates, in PEM, by which the host knows the CA's server. Empty: those of the operating system.
	CA string
}

// LetsEncrypt is what stands for the directory of Let's Encrypt.
const LetsEncrypt = "letsencrypt"

func (o *ACMEOptions) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "acme", Destination: &o.Directory, Usage: "get certificates acme/DNSNAME of listeners from the CA with this ACME directory, a `URL` or letsencrypt, whose terms you accept by it"},
		&cli.StringFlag{Name: "acme-email", Destination: &o.Email, Usage: "`ADDRESS` that the CA of --acme writes to when something is wrong with a certificate"},
		&cli.StringFlag{Name: "acme-ca", Destination: &o.CA, Usage: "`FILE` with the roots by which the server of --acme is known; without it those of the operating system"},
	}
}

// complete checks the form of the options.
func (o *ACMEOptions) complete() error {
	if o.Directory == "" {
		if o.Email != "" || o.CA != "" {
			return exit.Usagef("--acme-email and --acme-ca are of no use without --acme: name the CA, such as --acme letsencrypt")
		}
		return nil
	}
	if o.Directory == LetsEncrypt {
		return nil
	}
	if u, err := url.Parse(o.Directory); err != nil || u.Scheme != "https" || u.Host == "" {
		return exit.Usagef("--acme %q is neither letsencrypt nor the URL of an ACME directory, such as https://ca.example.org/acme/acme/directory", o.Directory)
	}
	return nil
}
