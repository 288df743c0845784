package network

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"

	"pinion/packaging/atomicfile"
)

// bridgeConfig is the bridge and the subnet of a data directory. It is chosen at the first attachment and kept in a file.
type bridgeConfig struct {
	Bridge string `json:"bridge"`          // interface name
	Subnet string `json:"subnet"`          // /24, its first address is the bridge's own
	Range  string `json:"range,omitempty"` // of a network of tasks: what the subnets of all hosts are in; empty in mode bridge
}

// defaultBridge is the bridge's name on a machine with one data directory, the usual case.
const defaultBridge = "pinion0"

// subnetRanges are the private networks from which subnets are chosen, by their first two bytes.
var subnetRanges = [][2]byte{{172, 31}, {172, 30}, {10, 213}, {10, 214}}

// chooseBridgeConfig picks a subnet for the data directory at dir that nothing on this machine uses. The path determines
// where the search starts, so several hosts on one machine seldom collide.
func chooseBridgeConfig(dir string, taken []netip.Prefix) (bridgeConfig, error) {
	start := sha256.Sum256([]byte(dir))[0]
	for _, r := range subnetRanges {
		for i := range 256 {
			subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{r[0], r[1], start + byte(i), 0}), 24)
			if !overlapsAny(subnet, taken) {
				return bridgeConfig{Bridge: defaultBridge, Subnet: subnet.String()}, nil
			}
		}
	}
	return bridgeConfig{}, errors.New("no private /24 is free on this host for its containers; every one of 172.31.0.0/16, 172.30.0.0/16, 10.213.0.0/16 and 10.214.0.0/16 is in use")
}

// taskBridge is the name of the bridge of a network of tasks, where fallbackBridge does not have to do.
const taskBridge = "pinion-tasks"

// isTaskBridge reports whether an interface may be the bridge of a network of tasks.
func isTaskBridge(name string) bool {
	return name == taskBridge || len(name) == len(fallbackBridge("")) && strings.HasPrefix(name, "pin")
}

// fallbackBridge is a name unique to this data directory, derived from its path.
func fallbackBridge(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return "pin" + hex.EncodeToString(sum[:5])
}

func overlapsAny(p netip.Prefix, taken []netip.Prefix) bool {
	for _, t := range taken {
		if p.Overlaps(t) {
			return true
		}
	}
	return false
}

// usedPrefixes lists the networks of this machine's addresses and routes.
func usedPrefixes() ([]netip.Prefix, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("addresses of this host: %w", err)
	}
	taken := routedPrefixes()
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			taken = append(taken, p.Masked())
		}
	}
	return taken, nil
}

func readBridgeConfig(path string) (*bridgeConfig, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("network state: %w", err)
	}
	var p bridgeConfig
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fmt.Errorf("network state %s: %w; remove it to choose a new bridge", path, err)
	}
	return &p, nil
}

func writeBridgeConfig(path string, p bridgeConfig) error {
	raw, err := json.Marshal(p)
	if err == nil {
		err = atomicfile.Write(path, raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("network state: %w", err)
	}
	return nil
}
