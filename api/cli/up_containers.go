package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/raftfsm/envfile"
	"pinion/raftfsm/filesystem"
	"pinion/raftfsm/isolation"
	"pinion/raftfsm/linux"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/tasknetwork"
	"pinion/raftfsm/volumeroot"
)

// ContainerOptions is what the containers of tasks may reach and use on a host.
type ContainerOptions struct {
	// Volumes are the directories that tasks may mount.
	Volumes []volumeroot.Root
	// FileSystems are the network file systems that the host mounts for tasks.
	FileSystems []filesystem.FileSystem
	// Devices are the devices that containers may have, and directories of them; see linux.CheckDevice.
	Devices []string
	// Buckets are directories with environment files of containers, by the names of the buckets that they are; see envfile.File.
	Buckets map[string]string
	// Allow are the powers that containers may have beyond those that every host gives; see isolation.Allowable.
	Allow []string
	// PidsLimit is the number of processes and threads of a container, for each of its GPUs if it has several. 0: no limit.
	PidsLimit int64
	// MaxStopTimeout bounds the time that a container is given to stop, whatever its definition says. 0: no bound.
	MaxStopTimeout time.Duration
	// NoNewPrivileges keeps the processes of all containers from gaining privileges by setuid programs.
	NoNewPrivileges bool
	// UserNamespaces runs all tasks in user namespaces, not only those of clusters that want it.
	UserNamespaces bool
	// SecretCommands are programs of the host that print secrets, by the names that task definitions have for them.
	SecretCommands map[string]string
	// LogDestinations are where the host sends their logs; see logdriver.ParseAllowed.
	LogDestinations []string
	// TaskNetwork is the network whose addresses tasks of networkMode awsvpc have. nil: this host has none.
	TaskNetwork *tasknetwork.Network
	// Names is how they reach services by name.
	Names NameOptions
}

// containerFlags are the flags of `pinion up` that are parsed into ContainerOptions.
type containerFlags struct {
	volumes, fileSystems, devices, buckets, allow, secretCommands, logDestinations cli.StringSlice
	taskNetwork                                                                    string
}

func (f *containerFlags) flags(o *ContainerOptions) []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "volume", Destination: &f.volumes, Usage: "let tasks mount this directory and what is in it, `[NAME=]DIR[:ro]`; may be repeated"},
		&cli.StringSliceFlag{Name: "file-system", Destination: &f.fileSystems, Usage: "mount this network file system for tasks that name it as fileSystemId in efsVolumeConfiguration, `NAME=TYPE:SOURCE[,OPTION...]` with what mount(8) takes, such as models=nfs:10.0.0.5:/models,vers=4.2,ro; may be repeated"},
		&cli.StringSliceFlag{Name: "device", Destination: &f.devices, Usage: "let containers have this device, or those in this directory, `PATH` below /dev such as /dev/fuse; may be repeated. GPUs are none of them"},
		&cli.StringSliceFlag{Name: "bucket", Destination: &f.buckets, Usage: "read the environmentFiles arn:aws:s3:::NAME/KEY.env of containers from this directory, `NAME=DIR`; may be repeated"},
		&cli.StringSliceFlag{Name: "allow", Destination: &f.allow, Usage: "allow containers these `PRIVILEGES`, comma-separated: privileged, host-pid, host-ipc, capabilities such as NET_ADMIN"},
		&cli.StringSliceFlag{Name: "secret-command", Destination: &f.secretCommands, Usage: "have this program print the secrets pinion:command:NAME:REFERENCE of tasks, given the reference: `NAME=PATH`; may be repeated"},
		&cli.StringSliceFlag{Name: "log-destination", Destination: &f.logDestinations, Value: cli.NewStringSlice(logdriver.Remote), Usage: "send the logs of containers there when their definitions say so, and nowhere else: remote for other machines, tcp://HOST:PORT, udp://HOST:PORT or unix:///PATH such as unix:///dev/log for what is on this one; may be repeated"},
		&cli.StringFlag{Name: "task-network", Destination: &f.taskNetwork, Usage: "give tasks of networkMode awsvpc addresses out of this range, `[NAME=]RANGE` such as 10.32.0.0/16, the same on all hosts that are to reach one another's tasks; NAME is what networkConfiguration calls a subnet, default unless it is given"},
		&cli.Int64Flag{Name: "pids-limit", Value: 16384, Destination: &o.PidsLimit, Usage: "most processes and threads of a container, for each of its GPUs if it has several: `N`, or 0 for no limit"},
		&cli.DurationFlag{Name: "max-stop-timeout", Value: 10 * time.Minute, Destination: &o.MaxStopTimeout, Usage: "longest `TIME` that a container is given to stop, whatever its task definition says"},
		&cli.BoolFlag{Name: "no-new-privileges", Destination: &o.NoNewPrivileges, Usage: "keep all containers from gaining privileges by setuid programs such as sudo"},
		&cli.BoolFlag{Name: "user-namespaces", Destination: &o.UserNamespaces, Usage: "run all tasks in user namespaces, where root is an unprivileged user of this host; without it only tasks of clusters whose setting userNamespaces is enabled"},
	}
}

// complete sets the options that flags cannot set directly, and checks the form of all. Whether the directories may be given is
// checked on the host.
func (f *containerFlags) complete(o *ContainerOptions) error {
	o.Volumes, o.Devices, o.Allow, o.LogDestinations = nil, nil, nil, nil
	for _, given := range f.logDestinations.Value() {
		destination, err := logdriver.ParseAllowed(given)
		if err != nil {
			return exit.Usagef("--log-destination %v", err)
		}
		o.LogDestinations = append(o.LogDestinations, destination)
	}
	for _, given := range f.devices.Value() {
		if err := linux.CheckDevice(given); err != nil {
			return exit.Usagef("--device %s: %v", given, err)
		}
		o.Devices = append(o.Devices, given)
	}
	for _, given := range f.volumes.Value() {
		root, err := parseVolumeRoot(given)
		if err != nil {
			return err
		}
		o.Volumes = append(o.Volumes, root)
	}
	for _, given := range f.allow.Value() {
		for word := range strings.SplitSeq(given, ",") {
			word = strings.TrimPrefix(word, "CAP_")
			if !isolation.Allowable(word) {
				return exit.Usagef("--allow %q is not privileged, host-pid, host-ipc, or a capability that containers do not have without it, such as NET_ADMIN", word)
			}
			if !slices.Contains(o.Allow, word) {
				o.Allow = append(o.Allow, word)
			}
		}
	}
	if err := errors.Join(f.parseSecretCommands(o), f.parseBuckets(o), f.parseFileSystems(o)); err != nil {
		return err
	}
	if o.TaskNetwork = nil; f.taskNetwork != "" {
		network, err := tasknetwork.Parse(f.taskNetwork)
		if err != nil {
			return exit.Usagef("--task-network %v", err)
		}
		o.TaskNetwork = &network
	}
	if o.PidsLimit < 0 {
		return exit.Usagef("--pids-limit %d is not a number of processes; 0 is no limit", o.PidsLimit)
	}
	if o.MaxStopTimeout < time.Second {
		return exit.Usagef("--max-stop-timeout %v is not a duration of a second or more, such as 2m", o.MaxStopTimeout)
	}
	return nil
}

func (f *containerFlags) parseSecretCommands(o *ContainerOptions) error {
	for _, given := range f.secretCommands.Value() {
		name, path, _ := strings.Cut(given, "=")
		if !volumeroot.ValidName(name) || !filepath.IsAbs(path) {
			return exit.Usagef("--secret-command %q is not NAME=PATH with a name of letters, digits, - and _, and the absolute path of a program", given)
		}
		if o.SecretCommands == nil {
			o.SecretCommands = map[string]string{}
		}
		o.SecretCommands[name] = filepath.Clean(path)
	}
	return nil
}

func (f *containerFlags) parseBuckets(o *ContainerOptions) error {
	o.Buckets = nil
	for _, given := range f.buckets.Value() {
		name, dir, _ := strings.Cut(given, "=")
		if !envfile.ValidBucket(name) || !filepath.IsAbs(dir) {
			return exit.Usagef("--bucket %q is not NAME=DIR with the name of a bucket, 3 to 63 small letters, digits, - and dots, and the absolute path of a directory", given)
		}
		if _, again := o.Buckets[name]; again {
			return exit.Usagef("--bucket %s is there twice", name)
		}
		if o.Buckets == nil {
			o.Buckets = map[string]string{}
		}
		o.Buckets[name] = filepath.Clean(dir)
	}
	return nil
}

func (f *containerFlags) parseFileSystems(o *ContainerOptions) error {
	o.FileSystems = nil
	for _, given := range f.fileSystems.Value() {
		parsed, err := filesystem.Parse(given)
		if err != nil {
			return exit.Usagef("--file-system %v", err)
		}
		if slices.ContainsFunc(o.FileSystems, func(known filesystem.FileSystem) bool { return known.Name == parsed.Name }) {
			return exit.Usagef("--file-system %s is there twice", parsed.Name)
		}
		o.FileSystems = append(o.FileSystems, parsed)
	}
	return nil
}

func parseVolumeRoot(given string) (volumeroot.Root, error) {
	dir, readOnly := strings.CutSuffix(given, ":ro")
	root := volumeroot.Root{Path: dir, ReadOnly: readOnly}
	if name, path, named := strings.Cut(dir, "="); named && !strings.Contains(name, "/") {
		root.Name, root.Path = name, path
		if !volumeroot.ValidName(name) {
			return root, exit.Usagef("--volume %q: the name %q is not 1 to 64 letters, digits, - and _", given, name)
		}
	}
	if !filepath.IsAbs(root.Path) || strings.ContainsAny(root.Path, "\x00,") {
		return root, exit.Usagef("--volume %q is not DIR, DIR:ro, NAME=DIR or NAME=DIR:ro with the absolute path of a directory", given)
	}
	root.Path = filepath.Clean(root.Path)
	return root, nil
}
