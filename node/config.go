package node

import (
	"context"
	"log/slog"
	"time"

	"pinion/gpu"
	"pinion/node/gpuhealth"
	"pinion/node/gpuusage"
	"pinion/node/machine"
	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/node/volume"
	"pinion/raftfsm/spec"
)

// Config has the dependencies and options of an agent. Everything but Sharer, Partitions, Volumes, Proxy, Resolver, MaxStopTimeout, Hooks and Boot is required.
type Config struct {
	// Host is the host as it describes itself: id, name, cluster, address, version, attributes, CPU and memory. The
	// agent fills in GPUs; Status, RegisteredAt and Revision belong to the pool.
	Host       spec.Host
	Control    Control
	Images     runtime.Images
	Containers runtime.Containers
	Execer     runtime.Execer
	Network    runtime.Network
	GPUs       gpu.Source
	Logs       LogReader
	GPUHealth  *gpuhealth.Record
	GPUUsage   *gpuusage.Record
	// Sharer keeps containers to their shares of GPUs; nil: this host shares none.
	Sharer gpu.Sharer
	// Partitions reads the GPU partitions that the pool wants; nil: it partitions none.
	Partitions Partitions
	// Volumes are the directories of the host that tasks may mount, those of Host.Volumes; nil: none.
	Volumes *volume.Roots
	// Proxy carries requests to targets; nil: this host carries none. Its owner has it call Node.Routes.TargetDrained and SetListenerProblems.
	Proxy Proxy
	// Resolver returns the DNS resolver of tasks, and the domain of names without a dot; nil or empty: the host's.
	Resolver func() (address, domain string)
	// MaxStopTimeout bounds the stop timeout of containers; 0: only their definitions do.
	MaxStopTimeout time.Duration
	// Hooks makes a task's hooks beside the built-in ones; nil: none.
	Hooks func(spec.Assignment) []task.Hook
	// Dir is the directory of the files that go with a task, under tasks/<task id>: scratch volumes, /etc/hosts and
	// /etc/resolv.conf of its containers.
	Dir string
	Log *slog.Logger
	// Boot counts the time limits of tasks; zero: this machine's.
	Boot machine.BootClock
}

// LogReader reads the kept output of containers.
type LogReader interface {
	// Read answers a query from the kept logs. Following, it goes on until done is closed, reads once more what came until then, and returns.
	Read(ctx context.Context, q spec.LogQuery, done <-chan struct{}, emit func(spec.LogLine) error) error
}
