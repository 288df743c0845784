package cli

import (
	"log/slog"
	"strings"
	"time"

	"pinion/api/cli/exit"
	"pinion/api/cli/telemetry"
	"pinion/gpu"
	"pinion/packaging/signature"
)

// DefaultRegistryConfig is the directory of registry logins and mirrors of a host that names no other.
const DefaultRegistryConfig = "/etc/pinion/registries"

// UpConfig is the options of `pinion up` and the configuration of the host in one struct. Program.Up gets it with the form
// of all fields checked.
type UpConfig struct {
	// DataDir is the absolute path of the directory that holds everything the host keeps, its unix socket included.
	DataDir string
	// Name is what lists call the host, and commands. Empty: the host name of the machine.
	Name string
	// Listen is the address of the TLS port, "host:port" or ":port"; port 0 takes any free one.
	Listen string
	// Advertise is the "host:port" that clients and other hosts reach this host by. Empty: found from Listen and
	// the machine's own addresses.
	Advertise string
	// GPUs are the GPUs that tasks get.
	GPUs GPUOptions
	// Containerd is the socket of a containerd of the machine to use. Empty: Pinion runs its own.
	Containerd string
	// Attributes are the host's custom attributes, which placement constraints can name.
	Attributes map[string]string
	// Cluster is the ECS cluster whose tasks the host runs. Empty: that of the join token, and the default one of a
	// pool that this host creates.
	Cluster string
	// Traffic is how the host carries the traffic of load balancers.
	Traffic TrafficOptions
	// LogLevel is the least severe level that is logged, to standard error.
	LogLevel slog.Level
	// RegistryConfig is a directory with registry logins (config.json, as `docker login` writes it) and mirrors
	// (certs.d, as containerd reads it). It is read for each pull, and may not exist when it is DefaultRegistryConfig.
	RegistryConfig string
	// Unlock is the secret that opens the keys in DataDir. Nil: none was given.
	Unlock []byte
	// Disk bounds logs and images.
	Disk DiskConfig

	// Containers is what the containers of tasks may reach and use on this host.
	Containers ContainerOptions

	// Join is the "host:port" of any host of the pool to join. Empty: this host begins a pool of its own, or goes
	// on in the one that it belongs to.
	Join string
	// JoinToken is the join token, needed the first time that a host joins.
	JoinToken string
	// JoinTokenFile is the file that JoinToken was read from: "-" is standard input. Empty: it was given otherwise.
	JoinTokenFile string
	// NewPool is for a pool that this host creates.
	NewPool PoolOptions
	// Telemetry is where the host pushes what it measures.
	Telemetry telemetry.Options
	// ReleaseKeys are whose signatures of a release this host's operator trusts, beside those of the keys that its binary has.
	ReleaseKeys signature.Keys
}

// PoolOptions are the settings of a new pool.
type PoolOptions struct {
	// Servers is the number of voting servers: 1, 3 or 5. 0: 3.
	Servers int
	// ReplaceAfter is the time until another host replaces an unreachable server. 0: 5 minutes.
	ReplaceAfter time.Duration
	// LostAfter is the time until the tasks of an unreachable host are STOPPED. 0: a minute.
	LostAfter time.Duration
}

// GPUOptions are the GPUs of a host.
type GPUOptions struct {
	// Source says where they come from: "auto" (the NVIDIA driver, none when there is none), "none", or "sim:COUNTxMODEL" for the simulator. With
	// ",mps" after auto or a simulated set tasks may share GPUs.
	Source string
	// MIG says who partitions them: MIGStatic, the operator alone, or MIGDynamic, the pool too; empty: MIGStatic.
	MIG string
}

// Values of GPUOptions.MIG.
const (
	MIGStatic  = "static"
	MIGDynamic = "dynamic"
)

func (g *GPUOptions) check() error {
	switch {
	case !gpuSource.MatchString(g.Source):
		return exit.Usagef("--gpus %q is not auto, none, or a simulated set such as sim:8xh100, with ,mps after it to share GPUs", g.Source)
	case g.MIG != MIGStatic && g.MIG != MIGDynamic:
		return exit.Usagef("--mig %q is not static or dynamic", g.MIG)
	case g.MIG == MIGDynamic && (g.Source == "none" || strings.HasSuffix(g.Source, ","+gpu.EnforcedByMPS)):
		return exit.Usagef("--mig dynamic is for whole GPUs: it does not go with --gpus %s", g.Source)
	}
	return nil
}
