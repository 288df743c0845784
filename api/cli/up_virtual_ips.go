package cli

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/raftfsm/iplease"
)

// virtualIPFlags are the flags of `pinion up` that are parsed into UpConfig.VirtualIPs.
type virtualIPFlags struct{ given cli.StringSlice }

func (f *virtualIPFlags) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "virtual-ip", Destination: &f.given, Usage: "offer to hold this address for the pool, `ADDRESS/BITS[@DEVICE]`, such as 10.0.0.100/24: of the hosts that offer it one has it at a time; may be repeated"},
	}
}

// complete sets the addresses, and checks the form of all.
func (f *virtualIPFlags) complete() (all []iplease.Offer, err error) {
	for _, given := range f.given.Value() {
		address, device, named := strings.Cut(given, "@")
		network, err := netip.ParsePrefix(address)
		if err != nil || named && !validDevice(device) {
			return nil, exit.Usagef("--virtual-ip %q is not ADDRESS/BITS or ADDRESS/BITS@DEVICE, such as 10.0.0.100/24@eth0", given)
		}
		offered := iplease.Offer{IP: network.Addr().String(), Bits: network.Bits(), Device: device}
		if err := iplease.Check(offered); err != nil {
			return nil, exit.Usagef("--virtual-ip %q: %v", given, err)
		}
		if slices.ContainsFunc(all, func(v iplease.Offer) bool { return v.IP == offered.IP }) {
			return nil, exit.Usagef("--virtual-ip %s is there twice", offered.IP)
		}
		all = append(all, offered)
	}
	if len(all) > iplease.MaxOffers {
		return nil, exit.Usagef("--virtual-ip is there %d times, a host may offer %d addresses", len(all), iplease.MaxOffers)
	}
	return all, nil
}

// validDevice reports whether Linux could have a network device of that name.
func validDevice(name string) bool {
	const most = 15
	return name != "" && len(name) <= most && name != "." && name != ".." && !strings.ContainsAny(name, "/: \t\n\x00")
}
