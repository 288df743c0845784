package task

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// etcFilesHook gives containers their /etc/hosts and /etc/resolv.conf.
type etcFilesHook struct {
	resolver func() (address, domain string) // of Config
}

var _ SpecHook = (*etcFilesHook)(nil)

func (h *etcFilesHook) Name() string { return "names" }

// BuildSpec writes the files anew: a restarted container may have another address.
func (h *etcFilesHook) BuildSpec(s *Start) error {
	def, mode := withLinks(s.Spec.Def, s.Links), s.Container.networkMode()
	if h.resolver != nil && mode != runtime.NetworkNone && len(def.DNSServers) == 0 {
		address, domain := h.resolver()
		def = withResolver(def, address, domain)
	}
	files, err := writeEtcFiles(s.Dir, mode, def, s.Address)
	s.Spec.HostsFile, s.Spec.ResolvFile = files.hosts, files.resolv
	return err
}

// withLinks is a definition with the names of linked containers, before its own.
func withLinks(def *spec.ContainerDefinition, links []spec.ExtraHost) *spec.ContainerDefinition {
	changed := *def
	changed.ExtraHosts = slices.Concat(links, def.ExtraHosts)
	return &changed
}

// withResolver is a definition with a resolver of its host's, which asks those of the host itself. The domain comes before the host's own search
// domains, unless the definition has some.
func withResolver(def *spec.ContainerDefinition, address, domain string) *spec.ContainerDefinition {
	if address == "" {
		return def
	}
	changed := *def
	changed.DNSServers = []string{address}
	if len(def.DNSSearchDomains) == 0 {
		changed.DNSSearchDomains = append([]string{domain}, searchDomains(readFirstExisting(hostResolvPaths))...)
	}
	return &changed
}

// searchDomains are the search domains of a resolv.conf, whose last line about them counts.
func searchDomains(resolv string) (domains []string) {
	for line := range strings.Lines(resolv) {
		if fields := strings.Fields(line); len(fields) > 1 && (fields[0] == "search" || fields[0] == "domain") {
			domains = fields[1:]
		}
	}
	return domains
}

// etcFiles are the files a container resolves names with, as paths on this host.
type etcFiles struct{ hosts, resolv string }

// The files of this machine. systemd-resolved's list of real servers comes first: the stub that /etc/resolv.conf names
// there listens on the host's loopback, where containers cannot reach it.
var (
	hostHostsPath   = "/etc/hosts"
	hostResolvPaths = []string{"/run/systemd/resolve/resolv.conf", "/etc/resolv.conf"}
)

// writeEtcFiles writes the files of one container into dir. address is empty when the container has none of its own;
// on the host's network the container resolves as the host does. What the definition adds comes last in hosts, and its
// name servers and search domains take the place of the host's.
func writeEtcFiles(dir, mode string, def *spec.ContainerDefinition, address string) (etcFiles, error) {
	files := etcFiles{hosts: filepath.Join(dir, "hosts"), resolv: filepath.Join(dir, "resolv.conf")}
	hosts, resolv := hostsFile(def.Hostname, address), ""
	switch mode {
	case runtime.NetworkHost:
		raw, err := os.ReadFile(hostHostsPath)
		if err != nil && !os.IsNotExist(err) {
			return etcFiles{}, fmt.Errorf("names of this host: %w", err)
		}
		hosts, resolv = string(raw), readFirstExisting(hostResolvPaths[len(hostResolvPaths)-1:])
	case runtime.NetworkBridge, runtime.NetworkAwsvpc:
		resolv = dropLoopbackServers(readFirstExisting(hostResolvPaths))
	}
	for _, entry := range def.ExtraHosts {
		hosts += entry.IPAddress + "\t" + entry.Hostname + "\n"
	}
	resolv = replaceDirective(resolv, "nameserver", def.DNSServers)
	if len(def.DNSSearchDomains) > 0 {
		resolv = replaceDirective(resolv, "search", []string{strings.Join(def.DNSSearchDomains, " ")})
	}
	for path, text := range map[string]string{files.hosts: hosts, files.resolv: resolv} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return etcFiles{}, fmt.Errorf("names of the container: %w", err)
		}
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

// replaceDirective puts the values in the place of resolv's own lines with the keyword; without values it stays as it is.
func replaceDirective(resolv, keyword string, values []string) string {
	if len(values) == 0 {
		return resolv
	}
	text := ""
	for line := range strings.Lines(resolv) {
		if fields := strings.Fields(line); len(fields) == 0 || fields[0] != keyword {
			text += strings.TrimSuffix(line, "\n") + "\n"
		}
	}
	for _, value := range values {
		text += keyword + " " + value + "\n"
	}
	return text
}

// readFirstExisting is the content of the first file that is there, or nothing: a host without a resolver has containers
// without one.
func readFirstExisting(paths []string) string {
	for _, p := range paths {
		if raw, err := os.ReadFile(p); err == nil {
			return string(raw)
		}
	}
	return ""
}

// dropLoopbackServers leaves out name servers on the host's loopback.
func dropLoopbackServers(resolv string) string {
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
