package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"pinion/raftfsm/hostport"
	"pinion/raftfsm/spec"
)

const (
	cniVersion    = "1.0.0"
	interfaceName = "eth0"
	// pluginTimeout is far above a plugin's usual time (10 ms); it bounds how long a hung plugin can delay a task.
	pluginTimeout = time.Minute
)

// cniConf is a plugin's network configuration, with the fields that Pinion uses.
type cniConf struct {
	CNIVersion string         `json:"cniVersion"`
	Name       string         `json:"name"`
	Type       string         `json:"type"` // name of the plugin
	Bridge     string         `json:"bridge,omitempty"`
	IsGateway  bool           `json:"isGateway,omitempty"`
	Hairpin    bool           `json:"hairpinMode,omitempty"` // a container reaches its own published port
	IPAM       *ipam          `json:"ipam,omitempty"`
	Backend    string         `json:"backend,omitempty"`
	SNAT       bool           `json:"snat,omitempty"` // published ports are reachable at 127.0.0.1 too
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

// result is a plugin's result of ADD, as JSON.
type result = json.RawMessage

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
		host, container := hostport.Published(p.HostPortRange, p.HostPort, p.ContainerPortRange, p.ContainerPort)
		for i := range host.Size() {
			c.Runtime.Ports = append(c.Runtime.Ports, portMap{HostPort: host.First + i, ContainerPort: container.First + i, Protocol: p.Protocol})
		}
	}
	return c
}

// plugins runs the CNI plugins of one directory with the CNI project's own library. Each run is a separate process.
type plugins struct{ dir string }

// check reports a missing plugin at start, before the first container needs it.
func (p plugins) check() error {
	for _, name := range []string{"bridge", "host-local", "portmap"} {
		if _, err := exec.LookPath(filepath.Join(p.dir, name)); err != nil {
			return fmt.Errorf("CNI plugin %s: %w; bridge networking needs it in %s", name, err, p.dir)
		}
	}
	return nil
}

// add returns the plugin's result, and the container's IPv4 address in it.
func (p plugins) add(ctx context.Context, c cniConf, id, namespace string) (answer result, address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pluginTimeout)
	defer cancel()
	input, err := json.Marshal(c)
	if err != nil {
		return nil, "", fmt.Errorf("CNI plugin %s: %w", c.Type, err)
	}
	added, err := invoke.ExecPluginWithResult(ctx, p.path(c), input, p.args("ADD", id, namespace), pluginExec)
	if err != nil {
		return nil, "", fmt.Errorf("CNI plugin %s ADD: %w", c.Type, err)
	}
	if address, err = addressOf(added); err != nil {
		return nil, "", fmt.Errorf("CNI plugin %s ADD: %w", c.Type, err)
	}
	answer, err = json.Marshal(added)
	return answer, address, err
}

func (p plugins) del(ctx context.Context, c cniConf, id, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, pluginTimeout)
	defer cancel()
	input, err := json.Marshal(c)
	if err == nil {
		err = invoke.ExecPluginWithoutResult(ctx, p.path(c), input, p.args("DEL", id, namespace), pluginExec)
	}
	if err != nil {
		return fmt.Errorf("CNI plugin %s DEL: %w", c.Type, err)
	}
	return nil
}

func (p plugins) path(c cniConf) string { return filepath.Join(p.dir, c.Type) }

func (p plugins) args(command, id, namespace string) pluginEnv {
	return pluginEnv{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"CNI_COMMAND=" + command, "CNI_CONTAINERID=" + id, "CNI_NETNS=" + namespace, "CNI_IFNAME=" + interfaceName, "CNI_PATH=" + p.dir,
	}
}

// pluginEnv is the complete environment of a plugin: the library's own arguments would add Pinion's environment.
type pluginEnv []string

// AsEnv implements invoke.CNIArgs.
func (e pluginEnv) AsEnv() []string { return e }

// pluginExec discards the stderr of a plugin that succeeds.
var pluginExec = &invoke.DefaultExec{RawExec: &invoke.RawExec{Stderr: io.Discard}}

// addressOf returns the first IPv4 address of a result.
func addressOf(added types.Result) (string, error) {
	answer, err := types100.GetResult(added)
	if err != nil {
		return "", err
	}
	for _, ip := range answer.IPs {
		if ip.Address.IP.To4() != nil {
			return ip.Address.IP.String(), nil
		}
	}
	return "", errors.New("its answer has no IPv4 address")
}
