package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"runtime/debug"
	"slices"
	"time"

	"pinion/api"
	"pinion/api/cli"
	"pinion/node"
	"pinion/node/containerd"
	"pinion/node/containerd/daemon"
	"pinion/node/datadir"
	"pinion/node/envfile"
	"pinion/node/filesystem"
	"pinion/node/firelens"
	"pinion/node/hostdevice"
	"pinion/node/logforward"
	"pinion/node/logs"
	"pinion/node/machine"
	"pinion/node/measure"
	"pinion/node/metadata"
	"pinion/node/network"
	"pinion/node/secrets"
	"pinion/node/task"
	"pinion/node/volume"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// fileSystemsDir is the directory of the data directory that network file systems are mounted in.
const fileSystemsDir = "filesystems"

// openVolumes checks the directories and the file systems that tasks may mount before anything is started.
func (h *host) openVolumes(context.Context) (err error) {
	if err := secrets.CheckCommands(h.config.Containers.SecretCommands); err != nil {
		return err
	}
	private := slices.AppendSeq([]string{h.self}, maps.Values(h.config.Containers.SecretCommands))
	for _, path := range []string{h.config.Containerd, h.config.RegistryConfig} {
		if path != "" {
			private = append(private, path)
		}
	}
	if h.volumes, err = volume.Open(h.config.Containers.Volumes, h.dir.Path, private...); err != nil {
		return err
	}
	h.fileSystems, err = filesystem.Open(filesystem.Config{Host: nameOf(h.config), FileSystems: h.config.Containers.FileSystems, Dir: h.dir.Join(fileSystemsDir), Log: h.log})
	return err
}

func (h *host) openRuntime(ctx context.Context) (err error) {
	if err := h.limitDisk(); err != nil {
		return err
	}
	address, snapshotter := h.config.Containerd, "" // a host's daemon is asked for its snapshotter
	if err := h.dir.SetContainerd(address); err != nil {
		return err
	}
	if address == "" {
		own, err := daemon.Start(ctx, h.daemonConfig())
		if err != nil {
			return err
		}
		h.onClose(func() error {
			if h.failed {
				return own.Abandon()
			}
			return own.Close()
		})
		address, snapshotter = own.Address(), own.Snapshotter()
	}
	h.logs = logs.NewStore(h.dir.Join("logs"))
	if h.runtime, err = containerd.Open(ctx, h.runtimeConfig(address, snapshotter)); err != nil {
		return err
	}
	h.onClose(h.runtime.Close)
	if n := h.config.Containers.TaskNetwork; n != nil {
		if host, err := netip.ParseAddr(spec.WithoutPort(h.address.Advertised)); err != nil || !host.Is4() {
			return fmt.Errorf("--task-network %s: other hosts route its tasks over the address of this one, which has to be one of IPv4, not %s: give it with --advertise", n, h.address.Advertised)
		}
	}
	if h.network, err = network.OpenHost(network.Config{
		CNI: h.tools.CNI, Dir: h.dir.Join("network"), HostID: h.dir.HostID, Tasks: h.config.Containers.TaskNetwork, Log: h.log,
	}); err != nil {
		return err
	}
	h.onClose(h.network.Close)
	if problem := h.network.Problem(); problem != "" {
		h.log.Warn("network", "problem", problem)
	}
	return nil
}

// endTasksTimeout bounds how long a host that was removed takes to end its tasks.
const endTasksTimeout = time.Minute

// endTasks ends the tasks of a host that was removed from its pool: there they are over, and nobody else would ever end them.
func endTasks(h *host) error {
	if h.runtime == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTasksTimeout)
	defer cancel()
	found, err := h.runtime.List(ctx)
	if err == nil {
		err = removeAll(ctx, h.runtime, found)
	}
	if err == nil {
		err = newDevices(h).endSharing(ctx)
	}
	if err != nil {
		return fmt.Errorf("ending the tasks of this host: %w: `pinion down --purge --force` ends them", err)
	}
	if tasks := containerd.TasksOf(found); len(tasks) > 0 {
		h.log.Warn("the tasks of this host were ended: it was removed from its pool", "tasks", tasks)
	}
	return nil
}

func (h *host) daemonConfig() daemon.Config {
	return daemon.Config{Containerd: h.tools.Containerd, Shim: h.tools.Shim, Runc: h.tools.Runc, Dir: h.dir.Join("containerd"), Log: h.log}
}

func (h *host) runtimeConfig(address, snapshotter string) containerd.Config {
	c := containerd.Config{
		Address: address, Snapshotter: snapshotter, Logger: h.tools.Logger, Entrypoint: h.tools.Entrypoint, Logs: h.logs.Path, Dir: h.dir.Join("runtime"),
		RegistryConfig: h.config.RegistryConfig, BuiltinBinary: h.self, Log: h.log,
		Images: h.imageLimits(), LogLimits: h.containerLogLimits(),
		Limits: containerd.Limits{Processes: h.config.Containers.PidsLimit, NoNewPrivileges: h.config.Containers.NoNewPrivileges},
	}
	if h.config.Containerd == "" {
		c.Shim, c.Runc = h.tools.Shim, h.tools.Runc
	}
	c.Namespace = containerdNamespace(h.dir.Dir, h.config.Containerd)
	if h.gpus != nil {
		c.CDI = h.gpus.source.CDI
	}
	return c
}

// containerdNamespace is the namespace of a directory's containers: empty, the default, with Pinion's own containerd, and
// otherwise the directory's alone. The agent stops containers that it does not know, so two hosts on one daemon need separate ones.
func containerdNamespace(dir *datadir.Dir, daemonAddress string) string {
	if daemonAddress == "" {
		return ""
	}
	return "pinion-" + dir.HostID
}

// openAgent creates the agent, which runs the assignments of this host.
func (h *host) openAgent(ctx context.Context) error {
	size, err := machine.Measure()
	if err != nil {
		return fmt.Errorf("measuring the machine: %w", err)
	}
	exchangeBlobs(h)
	attributes := machine.Attributes()
	maps.Copy(attributes, h.config.Attributes)
	h.logs.GroupRetention, h.logs.Deleted = h.member.Agent().LogRetention, h.member.Agent().DeletedLogs // the membership is open now, and nothing is pruned yet
	features := h.runtime.Features()
	if lack := features.NoUserNamespaces; lack != nil {
		h.log.Info("tasks of clusters that want user namespaces do not run here", "reason", lack)
	}
	userNamespaces, err := userNamespaces(features.NoUserNamespaces, h.config.Containers.UserNamespaces)
	if err != nil {
		return err
	}
	traffic, err := proxyConfig(h)
	if err != nil {
		return err
	}
	certificates, err := acmeCertificates(h)
	if err != nil {
		return err
	}
	hooks, err := taskHooks(h, attributes[spec.AttributeZone])
	if err != nil {
		return err
	}
	var partitions node.Partitions
	if h.config.GPUs.MIG == cli.MIGDynamic {
		partitions = h.member.Agent()
	}
	h.agent, err = newAgent(traffic, certificates, h.config.Containers.Names, h.network, measure.Meter{Usage: containerd.NewMeter(h.runtime), GPUs: h.gpus.usage, Control: h.member.Agent()}, node.Config{
		Host: spec.Host{
			ID: h.dir.HostID, Name: nameOf(h.config), Cluster: h.config.Cluster, Address: h.address.Advertised, Version: h.Version,
			FeatureLevel: raftfsm.FeatureLevel, Location: h.dir.Location, Starts: h.dir.Starts,
			Build: buildHash(h.Version), Runtime: features.Version, AppArmor: features.AppArmor, CountsSwap: features.CountsSwap,
			Attributes: attributes, CPU: size.CPU, MemoryMiB: size.MemoryMiB, Ports: []int{22, h.address.Port},
			Volumes: h.volumes.List(), FileSystems: h.fileSystems.Offers(), Devices: h.config.Containers.Devices, Buckets: slices.Sorted(maps.Keys(h.config.Containers.Buckets)), LogDestinations: h.config.Containers.LogDestinations, Allow: h.config.Containers.Allow, UserNamespaces: userNamespaces, VirtualIPs: h.config.Traffic.VirtualIPs, TaskNetwork: h.config.Containers.TaskNetwork,
		},
		Hooks:   hooks,
		Volumes: h.volumes, MaxStopTimeout: h.config.Containers.MaxStopTimeout,
		Control: h.member.Agent(), Images: h.runtime, Containers: h.runtime, Execer: h.runtime, Network: h.network, GPUs: h.gpus.source, GPUHealth: h.gpus.health, GPUUsage: h.gpus.usage, Sharer: h.gpus.sharer, Partitions: partitions, Logs: h.logs,
		Dir: h.dir.Path, Log: h.log,
	})
	if err == nil {
		h.agent.leases = h.member.Agent()
		go unmountUnused(ctx, h.agent, h.fileSystems)
	}
	return err
}

// unmountUnused unmounts what an earlier process has left mounted, once it is known which tasks are still there.
func unmountUnused(ctx context.Context, a *agent, mounts *filesystem.Mounts) {
	select {
	case <-a.Assigned:
		mounts.UnmountUnused(ctx)
	case <-ctx.Done():
	}
}

// taskHooks are the hooks of tasks for what this host gives them of its own and of the pool: devices, secrets, environment files, file systems, and the task metadata endpoint.
func taskHooks(h *host, zone string) (func(spec.Assignment) []task.Hook, error) {
	allowed, err := hostdevice.Open(nameOf(h.config), h.config.Containers.Devices, h.log)
	if err != nil {
		return nil, err
	}
	buckets, err := envfile.Open(nameOf(h.config), h.config.Containers.Buckets)
	if err != nil {
		return nil, err
	}
	own := h.member.TaskSecrets
	source := secrets.Source{Pool: own.Secrets, Logins: own.RegistryLogins, Logs: own.LogOptions, Commands: h.config.Containers.SecretCommands, Printed: recordPrinted(h.audit), Log: h.log}
	h.metadata = metadata.New(metadata.Config{
		Region: api.DefaultRegion, Zone: zone, Network: h.network, TaskSubnet: h.network.TaskSubnet, Usage: containerd.NewMeter(h.runtime).Container,
		Protection: func(ctx context.Context, taskID string, until *time.Time) (time.Time, string, error) {
			is, err := h.member.Protection.Protection(ctx, taskID, until)
			return is.Until, is.Refusal, err
		},
		Credentials: func(ctx context.Context, taskID string) (metadata.Credentials, error) {
			key, err := own.Credentials(ctx, taskID)
			return metadata.Credentials{RoleARN: key.RoleARN, AccessKeyID: key.ID, SecretAccessKey: key.Secret, Token: key.Token, Expiration: key.Expires}, err
		},
		HostTags: h.member.HostTags.Tags, Log: h.log,
	})
	h.onClose(h.metadata.Close)
	forwarders, err := logforward.New(logforward.Config{
		Store: h.logs, Allowed: h.config.Containers.LogDestinations, Virtual: cmp.Or(h.config.Containers.Names.Addresses, traffic.DefaultVirtualRange), HostName: nameOf(h.config), Region: api.DefaultRegion, Secrets: source.LogOptions, Log: h.log,
	})
	if err != nil {
		return nil, err
	}
	h.onClose(forwarders.Close)
	routers := firelens.Config{Region: api.DefaultRegion, Secrets: source.LogOptions, Log: h.log}
	return func(a spec.Assignment) []task.Hook {
		return slices.Concat(source.Hooks(a), allowed.Hooks(a), buckets.Hooks(a), h.fileSystems.Hooks(a), h.metadata.Hooks(a), routers.Hooks(a), forwarders.Hooks(a))
	}, nil
}

// userNamespaces is the host's policy of user namespaces. One that is to run all tasks in them and cannot runs none.
func userNamespaces(lack error, required bool) (spec.UserNamespaces, error) {
	switch {
	case required && lack != nil:
		return "", fmt.Errorf("--user-namespaces: %w", lack)
	case required:
		return spec.UserNamespacesRequired, nil
	case lack != nil:
		return "", nil
	}
	return spec.UserNamespacesAvailable, nil
}

// buildHash identifies what this binary is built of: its version, the compiler, and the sums of all modules.
func buildHash(version string) string {
	built := version
	if info, ok := debug.ReadBuildInfo(); ok {
		built += "\n" + info.String()
	}
	sum := sha256.Sum256([]byte(built))
	return hex.EncodeToString(sum[:4])
}
