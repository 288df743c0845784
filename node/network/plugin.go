package network

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"time"

	"pinion/raftfsm/spec"
)

const (
	cniVersion    = "1.0.0"
	interfaceName = "eth0"
	// pluginTimeout is far beyond what a plugin takes (10 ms), so that a plugin that hangs cannot hold a task for ever.
	pluginTimeout = time.Minute
)

// cniConf is a plugin's network configuration, the parts that Pinion uses.
type cniConf struct {
	CNIVersion string         `json:"cniVersion"`
	Name       string         `json:"name"`
	Type       string         `json:"type"` // the plugin
	Bridge     string         `json:"bridge,omitempty"`
	IsGateway  bool           `json:"isGateway,omitempty"`
	Hairpin    bool           `json:"hairpinMode,omitempty"` // a container reaches its own published port
	IPAM       *ipam          `json:"ipam,omitempty"`
	Backend    string         `json:"backend,omitempty"`
	SNAT       bool           `json:"snat,omitempty"` // published ports answer on 127.0.0.1 too
	Runtime    *runtimeConfig `json:"runtimeConfig,omitempty"`
	PrevResult result         `json:"prevResult,omitempty"`
}

type ipam struct {
	Type    string              `json:"type"`
	DataDir string              `json:"dataDir"`
	Ranges  [][]addressRange    `json:"ranges"`
	Routes  []map[string]string `json:"routes"`
}

type addressRange struct {
	Subnet string `json:"subnet"`
}

type runtimeConfig struct {
	Ports []portMap `json:"portMappings"`
}

type portMap struct {
	HostPort      int    `json:"hostPort"`
	ContainerPort int    `json:"containerPort"`
	Protocol      string `json:"protocol"`
}

// result is a plugin's answer to ADD, kept as it came.
type result = json.RawMessage

// addressIn is the first IPv4 address of a result.
func addressIn(r result) (string, error) {
	var answer struct {
		IPs []struct {
			Address string `json:"address"`
		} `json:"ips"`
	}
	if err := json.Unmarshal(r, &answer); err != nil {
		return "", fmt.Errorf("bridge plugin's answer: %w", err)
	}
	for _, ip := range answer.IPs {
		if parsed, _, err := net.ParseCIDR(ip.Address); err == nil && parsed.To4() != nil {
			return parsed.String(), nil
		}
	}
	return "", errors.New("bridge plugin's answer has no IPv4 address")
}

func (b *Bridge) bridgePluginConf() cniConf {
	return cniConf{
		CNIVersion: cniVersion, Name: b.config.Bridge, Type: "bridge", Bridge: b.config.Bridge, IsGateway: true, Hairpin: true,
		IPAM: &ipam{
			Type: "host-local", DataDir: b.leases(),
			Ranges: [][]addressRange{{{Subnet: b.config.Subnet}}},
			Routes: []map[string]string{{"dst": "0.0.0.0/0"}},
		},
	}
}

func (b *Bridge) portmapPluginConf(prev result, bindings []spec.NetworkBinding) cniConf {
	c := cniConf{CNIVersion: cniVersion, Name: b.config.Bridge, Type: "portmap", Backend: "iptables", SNAT: true, PrevResult: prev, Runtime: &runtimeConfig{}}
	for _, p := range bindings {
		c.Runtime.Ports = append(c.Runtime.Ports, portMap{HostPort: p.HostPort, ContainerPort: p.ContainerPort, Protocol: p.Protocol})
	}
	return c
}

// plugins runs the CNI plugins of one directory. Each run is a process of its own: the command goes in the
// environment, the configuration to stdin, the answer comes on stdout.
type plugins struct{ dir string }

// check says at start, and not at the first container, which plugin is missing.
func (p plugins) check() error {
	for _, name := range []string{"bridge", "host-local", "portmap"} {
		if _, err := exec.LookPath(filepath.Join(p.dir, name)); err != nil {
			return fmt.Errorf("CNI plugin %s: %w; bridge networking needs it in %s", name, err, p.dir)
		}
	}
	return nil
}

func (p plugins) add(ctx context.Context, c cniConf, id, namespace string) (result, error) {
	return p.run(ctx, "ADD", c, id, namespace)
}

func (p plugins) del(ctx context.Context, c cniConf, id, namespace string) error {
	_, err := p.run(ctx, "DEL", c, id, namespace)
	return err
}

func (p plugins) run(ctx context.Context, command string, c cniConf, id, namespace string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, pluginTimeout)
	defer cancel()
	input, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("CNI plugin %s: %w", c.Type, err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(p.dir, c.Type))
	cmd.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"CNI_COMMAND=" + command, "CNI_CONTAINERID=" + id, "CNI_NETNS=" + namespace, "CNI_IFNAME=" + interfaceName, "CNI_PATH=" + p.dir,
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("CNI plugin %s %s: %w: %s", c.Type, command, err, pluginError(stdout.Bytes(), stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// pluginError is what a failed plugin said: an error object on stdout, or whatever it wrote to stderr.
func pluginError(stdout, stderr []byte) string {
	var said struct {
		Msg     string `json:"msg"`
		Details string `json:"details"`
	}
	if json.Unmarshal(stdout, &said) == nil && said.Msg != "" {
		return said.Msg + said.Details
	}
	return string(bytes.TrimSpace(append(stdout, stderr...)))
}
