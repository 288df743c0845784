package cli

import (
	"log/slog"
	"time"
)

// UpConfig is what `pinion up` was asked for: the flag set of the command and the configuration of the host are this
// one struct. All fields are checked for form before Program.Up sees them.
type UpConfig struct {
	// DataDir is the absolute path of the directory that holds everything the host keeps, its unix socket included.
	DataDir string
	// Listen is the address of the TLS port, "host:port" or ":port"; port 0 takes any free one.
	Listen string
	// Advertise is the "host:port" that clients and other hosts reach this host by. Empty: found from Listen and
	// the machine's own addresses.
	Advertise string
	// GPUs says where GPUs come from: "auto" (the NVIDIA driver, none when there is none), "none", or
	// "sim:COUNTxMODEL" for the simulator.
	GPUs string
	// Containerd is the socket of a containerd of the machine to use. Empty: Pinion runs its own.
	Containerd string
	// Attributes are the host's custom attributes, which placement constraints can name.
	Attributes map[string]string
	// Cluster is the ECS cluster whose tasks the host runs.
	Cluster string
	// LogLevel is the least severe level that is logged, to standard error.
	LogLevel slog.Level
	// RegistryConfig is a directory with registry logins (config.json, as `docker login` writes it) and mirrors
	// (certs.d, as containerd reads it). Empty: neither.
	RegistryConfig string

	// Join is the "host:port" of any host of the pool to join. Empty: this host begins a pool of its own, or goes
	// on in the one that it belongs to.
	Join string
	// Token is the join token, needed the first time that a host joins.
	Token string
	// Servers is how many hosts hold the pool's state: 1, 3 or 5. 0: as the pool has it, 3 in a new one.
	Servers int
	// ReplaceAfter is how long a server may be gone until another host takes its place. 0: as the pool has it,
	// 5 minutes in a new one.
	ReplaceAfter time.Duration
	// LostAfter is how long a host may be gone until its tasks count as STOPPED. 0: as the pool has it, a minute
	// in a new one.
	LostAfter time.Duration
}
