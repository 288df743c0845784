// Package network implements the modes bridge and awsvpc. In bridge mode each container gets its own network namespace, an address on a bridge of this
// host, and published ports. The CNI plugins bridge, host-local and portmap configure them; this package adds recovery
// after restarts, clean-up, and prewarmed attachments. In mode awsvpc the containers of a task share one, of a TaskNetwork.
package network

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"pinion/node/runtime"
)

var _ runtime.Network = (*Bridge)(nil)

// Bridge is the bridge of one data directory with all its attachments.
type Bridge struct {
	plugins   plugins
	dir       string
	records   recordStore
	firewall  *firewall // nil: there is no iptables on this host
	prewarmed *prewarmed

	ports hostPorts

	choose func() (bridgeConfig, error) // a bridge and its subnet, for the first attachment
	avoid  []netip.Prefix               // ranges that no subnet is chosen from
	report func(netip.Prefix) error     // of the subnet; see Host.OnSubnet; nil: nobody wants it

	mu      sync.Mutex
	config  *bridgeConfig // nil until the first attachment
	ensured bool          // the bridge and its rules exist
}

// Open recovers the state in stateDir: it keeps the attachments of running containers and removes the remains of a crash or
// a reboot. cniDir holds the plugin binaries. The bridge is created for the first container.
func Open(cniDir, stateDir string) (*Bridge, error) {
	stateDir, err := filepath.Abs(stateDir)
	if err != nil {
		return nil, fmt.Errorf("network state %s: %w", stateDir, err)
	}
	b := &Bridge{plugins: plugins{dir: cniDir}, dir: stateDir, records: recordStore{dir: filepath.Join(stateDir, "attached")}, ports: hostPorts{held: map[string]io.Closer{}}}
	for _, d := range []string{b.records.dir, b.namespaces()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("network state: %w", err)
		}
	}
	if err := b.plugins.check(); err != nil {
		return nil, err
	}
	if b.config, err = readBridgeConfig(b.configFile()); err != nil {
		return nil, err
	}
	b.choose = b.chooseUnused
	b.firewall = findFirewall()
	b.prewarmed = newPrewarmed(func(ctx context.Context, id string) (record, error) {
		return b.createAttachment(ctx, id, runtime.IDRange{})
	}, func(r record) error { return b.tearDown(context.Background(), r) })
	return b, b.recover(context.Background())
}

// Problem explains which network features this host lacks, and the remedy; empty when there is no problem.
func (b *Bridge) Problem() string {
	if b.firewall == nil {
		return errNoFirewall.Error() + "; until then containers in the modes bridge and awsvpc reach this host and one another, nothing beyond, and ports cannot be published"
	}
	return ""
}

// Close removes the prewarmed attachments; containers stay attached. When there are none, the bridge and its rules are
// removed too, so nothing of Pinion's remains in the machine's network.
func (b *Bridge) Close() error {
	if err := b.prewarmed.close(); err != nil {
		return err
	}
	b.ports.releaseAll()
	all, err := b.records.all()
	if err != nil || len(all) > 0 {
		return err
	}
	return b.deallocate()
}

func (b *Bridge) namespaces() string { return filepath.Join(b.dir, "netns") }
func (b *Bridge) leases() string     { return filepath.Join(b.dir, "leases") }
func (b *Bridge) configFile() string { return filepath.Join(b.dir, "bridge.json") }

// Attach implements runtime.Network.
func (b *Bridge) Attach(ctx context.Context, request runtime.AttachRequest) (runtime.Attachment, error) {
	if r, ok := b.records.read(request.ID); ok && r.Complete {
		return b.attachment(r), nil
	}
	if ports := request.Ports; len(ports) > 0 && b.firewall == nil {
		return runtime.Attachment{}, fmt.Errorf("port %s cannot be published: %w", cmp.Or(ports[0].ContainerPortRange, strconv.Itoa(ports[0].ContainerPort)), errNoFirewall)
	}
	if err := b.ensure(); err != nil {
		return runtime.Attachment{}, err
	}
	r, err := b.attachWithoutPorts(ctx, request.ID, request.IDs)
	if err == nil {
		r, err = b.publish(ctx, r, request.Ports)
	}
	if err != nil {
		return runtime.Attachment{}, fmt.Errorf("container network: %w", err)
	}
	return b.attachment(r), nil
}

// Detach implements runtime.Network.
func (b *Bridge) Detach(ctx context.Context, id string) error {
	r, ok := b.records.read(id)
	if !ok {
		return nil
	}
	return b.tearDown(ctx, r)
}

func (b *Bridge) attachment(r record) runtime.Attachment {
	return runtime.Attachment{Namespace: b.namespace(r), Address: r.Address, Bindings: r.Bindings}
}

func (b *Bridge) namespace(r record) string { return filepath.Join(b.namespaces(), r.Sandbox) }

// attachWithoutPorts attaches the container without ports, to a prewarmed namespace or to a new one. What is prewarmed belongs to no
// user namespace.
func (b *Bridge) attachWithoutPorts(ctx context.Context, id string, ids runtime.IDRange) (record, error) {
	if !ids.IsZero() {
		return b.createAttachment(ctx, id, ids)
	}
	if spare, ok := b.prewarmed.acquire(); ok {
		return b.records.rename(spare, id)
	}
	return b.createAttachment(ctx, id, ids)
}

// createAttachment creates a namespace and connects it to the bridge. The record is written first, so that the next start
// finds the remains of a crash.
func (b *Bridge) createAttachment(ctx context.Context, id string, ids runtime.IDRange) (record, error) {
	r := record{ID: id, Sandbox: newSandbox()}
	if err := b.records.write(r); err != nil {
		return r, err
	}
	if err := b.setUp(ctx, &r, ids); err != nil {
		return r, b.rollback(r, err)
	}
	return r, nil
}

func (b *Bridge) setUp(ctx context.Context, r *record, ids runtime.IDRange) error {
	if err := createNamespace(b.namespace(*r), ids); err != nil {
		return err
	}
	result, address, err := b.plugins.add(ctx, b.bridgePluginConf(), r.Sandbox, b.namespace(*r))
	if err != nil {
		return err
	}
	r.Result, r.Address, r.Complete = result, address, true
	return b.records.write(*r)
}

// rollback removes the remains of a failed attachment, and returns the cause of the failure.
func (b *Bridge) rollback(r record, why error) error {
	if err := b.tearDown(context.Background(), r); err != nil {
		return fmt.Errorf("%w (and cleaning up: %w)", why, err)
	}
	return why
}

// tearDown undoes an attachment in any state of completion. It is idempotent.
func (b *Bridge) tearDown(ctx context.Context, r record) error {
	if err := b.unpublish(ctx, r); err != nil {
		return err
	}
	namespace := b.namespace(r)
	if !isNamespace(namespace) {
		namespace = "" // after a reboot only the address has to be released
	}
	if b.config != nil {
		if err := b.plugins.del(ctx, b.bridgePluginConf(), r.Sandbox, namespace); err != nil {
			return fmt.Errorf("container network: %w", err)
		}
	}
	if err := removeNamespace(b.namespace(r)); err != nil {
		return err
	}
	return b.records.remove(r.ID)
}
