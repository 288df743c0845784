package node

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// nameFiles are the files a container resolves names with, as paths on this host.
type nameFiles struct{ hosts, resolv string }

// hostFiles are where this machine keeps its own. systemd-resolved's list of real servers comes first: the stub that
// /etc/resolv.conf names there listens on the host's loopback, where containers cannot reach it.
var (
	hostHosts  = "/etc/hosts"
	hostResolv = []string{"/run/systemd/resolve/resolv.conf", "/etc/resolv.conf"}
)

// writeNameFiles writes the files of one container into dir. address is empty when the container has none of its own;
// on the host's network the container resolves as the host does.
func writeNameFiles(dir, mode, hostname, address string) (nameFiles, error) {
	files := nameFiles{hosts: filepath.Join(dir, "hosts"), resolv: filepath.Join(dir, "resolv.conf")}
	hosts, resolv := hostsFile(hostname, address), ""
	switch mode {
	case networkHost:
		raw, err := os.ReadFile(hostHosts)
		if err != nil && !os.IsNotExist(err) {
			return nameFiles{}, fmt.Errorf("names of this host: %w", err)
		}
		hosts, resolv = string(raw), readFirst(hostResolv[len(hostResolv)-1:])
	case networkBridge:
		resolv = reachable(readFirst(hostResolv))
	}
	if err := os.WriteFile(files.hosts, []byte(hosts), 0o644); err != nil {
		return nameFiles{}, fmt.Errorf("names of the container: %w", err)
	}
	if err := os.WriteFile(files.resolv, []byte(resolv), 0o644); err != nil {
		return nameFiles{}, fmt.Errorf("names of the container: %w", err)
	}
	return files, nil
}

func hostsFile(hostname, address string) string {
	text := "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
	if address == "" {
		address = "127.0.1.1"
	}
	return text + address + "\t" + hostname + "\n"
}

// readFirst is the content of the first file that is there, or nothing: a host without a resolver has containers
// without one.
func readFirst(paths []string) string {
	for _, p := range paths {
		if raw, err := os.ReadFile(p); err == nil {
			return string(raw)
		}
	}
	return ""
}

// reachable leaves out name servers on the host's loopback.
func reachable(resolv string) string {
	var kept []string
	for _, line := range strings.SplitAfter(resolv, "\n") {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == "nameserver" {
			if a, err := netip.ParseAddr(fields[1]); err == nil && a.IsLoopback() {
				continue
			}
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "")
}
