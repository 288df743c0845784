package run

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/volumeroot"
)

func flags() []cli.Flag {
	all := []cli.Flag{
		&cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "print the id of the task and return"},
		&cli.StringFlag{Name: "service", Usage: "keep the tasks running as the service `NAME`, --count of them, instead of running them once"},
		NoExecFlag(), invocation.ClusterFlag(),
	}
	all = append(all, inCategory("Resources", []cli.Flag{
		&cli.IntFlag{Name: "gpus", DefaultText: "none", Usage: "`N` whole GPUs, exclusive to the task"},
		&cli.StringFlag{Name: "gpu-memory", DefaultText: "none", Usage: "in place of --gpus: `SIZE` of the memory of one GPU that other tasks share, such as 10g, on hosts that keep tasks to that"},
		&cli.IntFlag{Name: "gpu-compute", DefaultText: "no limit", Usage: "with --gpu-memory: at most `PERCENT` of the GPU's threads"},
		&cli.Float64Flag{Name: "cpus", DefaultText: "no limit", Usage: "limit of `N` cores, such as 8 or 0.5"},
		&cli.StringFlag{Name: "memory", Aliases: []string{"m"}, DefaultText: "no limit, 256 MiB reserved", Usage: "limit of `SIZE`, such as 64g, 512m or 1.5GiB; a bare number is MiB (of docker: bytes)"},
		&cli.StringFlag{Name: "shm-size", Usage: "`SIZE` of /dev/shm, such as 16g; data loaders and NCCL need it"},
	})...)
	return slices.Concat(all, inCategory("Container", containerFlags()), inCategory("Hosts", placementFlags()), inCategory("Several tasks", batchFlags()), inCategory("Waiting and failures", waitFlags()))
}

// NoExecFlag keeps commands out of the containers of tasks.
func NoExecFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-exec", Usage: "let nobody but administrators run commands in the containers (pinion exec)"}
}

// inCategory gives flags a category, under which the help shows them.
func inCategory(name string, flags []cli.Flag) []cli.Flag {
	for _, flag := range flags {
		switch f := flag.(type) {
		case *cli.BoolFlag:
			f.Category = name
		case *cli.StringFlag:
			f.Category = name
		case *cli.StringSliceFlag:
			f.Category = name
		case *cli.IntFlag:
			f.Category = name
		case *cli.Float64Flag:
			f.Category = name
		}
	}
	return flags
}

// Definition is a RegisterTaskDefinition request, as far as commands make one: of `pinion run` it has one essential container.
type Definition struct {
	Family      string                     `json:"family"`
	NetworkMode string                     `json:"networkMode,omitempty"`
	CPU         string                     `json:"cpu,omitempty"`
	Volumes     []spec.Volume              `json:"volumes,omitempty"`
	Containers  []spec.ContainerDefinition `json:"containerDefinitions"`
}

// defaultReservationMiB is the memory that is reserved for a container without --memory.
const defaultReservationMiB = 256

// parseDefinition builds the request from the command line.
func parseDefinition(c *cli.Context) (Definition, error) {
	image, command, err := imageAndCommand(c.Args().Slice())
	if err != nil {
		return Definition{}, err
	}
	name := c.String("name")
	if name == "" {
		name = imageName(image)
	}
	if !spec.ValidName("run-" + name) {
		return Definition{}, exit.Usagef("--name %q is not a container name: up to 250 letters, digits, - and _", name)
	}
	essential := true
	container := spec.ContainerDefinition{
		Name: name, Image: image, Command: command, Essential: &essential,
		PortMappings: []spec.PortMapping{}, VolumesFrom: []spec.VolumeFrom{},
	}
	d := Definition{Family: "run-" + name, NetworkMode: c.String("network")}
	err = applyAll(c, &d, &container, applyGPUs, applyCPUs, applyMemory, applyEnvironment, applyVolumes, applyPorts, applyProcess, applySecrets)
	d.Containers = []spec.ContainerDefinition{container}
	return d, err
}

// apply adds what some flags say to a definition and its container.
type apply func(*cli.Context, *Definition, *spec.ContainerDefinition) error

// applyAll adds what all of the flags say. The error is all that is wrong with them.
func applyAll(c *cli.Context, d *Definition, container *spec.ContainerDefinition, all ...apply) error {
	var wrong []error
	for _, apply := range all {
		wrong = append(wrong, apply(c, d, container))
	}
	return exit.Join(wrong...)
}

// imageAndCommand splits IMAGE [--] COMMAND ARGUMENTS...
func imageAndCommand(arguments []string) (image string, command []string, err error) {
	image, command = arguments[0], arguments[1:]
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if image == "" || invocation.ResemblesFlag(image) {
		return "", nil, exit.Usagef("pinion run needs an image before --; see pinion run --help")
	}
	return image, command, nil
}

var invalidNameCharacters = lazyregexp.New(`[^A-Za-z0-9_-]+`)

// imageName is the last part of an image reference without tag and digest, fit for a container name: "cuda" for
// "nvidia/cuda:12.4".
func imageName(image string) string {
	name, _, _ := strings.Cut(image, "@")
	name = name[strings.LastIndex(name, "/")+1:]
	name, _, _ = strings.Cut(name, ":")
	name = strings.Trim(invalidNameCharacters.ReplaceAllString(name, "-"), "-")
	return name[:min(len(name), 250)]
}

func applyGPUs(c *cli.Context, _ *Definition, container *spec.ContainerDefinition) error {
	n := c.Int("gpus")
	if n < 0 {
		return exit.Usagef("--gpus %d: must be 0 or more", n)
	}
	if n > 0 {
		container.ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", Value: strconv.Itoa(n)}}
	}
	if alternatives := c.String("gpu-alternatives"); alternatives != "" {
		for _, flag := range []string{"gpus", "gpu-memory", "gpu-model", "mig-profile"} {
			if c.IsSet(flag) {
				return exit.Usagef("--gpu-alternatives is in place of --%s: it says which GPUs, and how many", flag)
			}
		}
		if list, err := spec.ParseGPUAlternatives(alternatives); err == nil { // ParseTags says what is wrong
			container.ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", Value: strconv.Itoa(list[0].GPUs)}}
		}
	}
	share, err := parseShare(c)
	if share != nil {
		container.ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", SharingStrategy: share}}
	}
	return err
}

// parseShare is the share of a GPU that the command line asks for; nil when it asks for none.
func parseShare(c *cli.Context) (*spec.SharingStrategy, error) {
	text, percent := c.String("gpu-memory"), int64(c.Int("gpu-compute"))
	switch {
	case text == "" && c.IsSet("gpu-compute"):
		return nil, exit.Usagef("--gpu-compute goes with --gpu-memory: a task that has whole GPUs has all of their threads")
	case text == "":
		return nil, nil
	case c.Int("gpus") > 0:
		return nil, exit.Usagef("--gpu-memory is in place of --gpus: a task has whole GPUs or a share of one")
	case c.String("mig-profile") != "":
		return nil, exit.Usagef("--mig-profile goes with --gpus: MIG devices are not shared")
	}
	mib, err := format.ParseMemory(text)
	if err != nil {
		return nil, exit.Usagef("--gpu-memory %w", err)
	}
	share := &spec.NvidiaMPS{Memory: mib}
	if c.IsSet("gpu-compute") {
		if percent < 1 || percent > 100 {
			return nil, exit.Usagef("--gpu-compute %d: must be 1 to 100, the percentage of the GPU's threads", percent)
		}
		share.MaxComputePercent = &percent
	}
	return &spec.SharingStrategy{NvidiaMPS: share}, nil
}

func applyCPUs(c *cli.Context, d *Definition, container *spec.ContainerDefinition) error {
	n := c.Float64("cpus")
	if !c.IsSet("cpus") {
		return nil
	}
	units := int64(math.Ceil(n * 1024))
	if !(n > 0) || n > 4096 {
		return exit.Usagef("--cpus %v: must be more than 0 cores, such as 8 or 0.5", n)
	}
	d.CPU, container.CPU = strconv.FormatInt(units, 10), units
	return nil
}

func applyMemory(c *cli.Context, _ *Definition, container *spec.ContainerDefinition) error {
	container.MemoryReservation = defaultReservationMiB
	if text := c.String("memory"); text != "" {
		limit, err := format.ParseMemory(text)
		if err != nil {
			return exit.Usagef("--memory %w", err)
		}
		container.Memory, container.MemoryReservation = limit, 0
	}
	if text := c.String("shm-size"); text != "" {
		size, err := format.ParseMemory(text)
		if err != nil {
			return exit.Usagef("--shm-size %w", err)
		}
		linuxOf(container).SharedMemorySize = size
	}
	return nil
}

func applyEnvironment(c *cli.Context, _ *Definition, container *spec.ContainerDefinition) error {
	container.Environment = []spec.KeyValue{}
	var variables []string
	for _, path := range c.StringSlice("env-file") {
		read, err := readEnvFile(path)
		if err != nil {
			return err
		}
		variables = append(variables, read...)
	}
	for _, given := range append(variables, c.StringSlice("env")...) {
		name, value, found := strings.Cut(given, "=")
		if !found {
			if value, found = os.LookupEnv(name); !found {
				return exit.Usagef("--env %s: the variable is not set here; use --env %s=VALUE", name, name)
			}
		}
		if name == "" {
			return exit.Usagef("--env %q has no name before the =", given)
		}
		container.Environment = append(container.Environment, spec.KeyValue{Name: name, Value: value})
	}
	return nil
}

// isVolumeSource accepts an absolute path, and the name of a volume root with a path below it, such as local/cache.
func isVolumeSource(text string) bool {
	name, _, _ := strings.Cut(text, "/")
	return strings.HasPrefix(text, "/") || volumeroot.ValidName(name)
}

func applyVolumes(c *cli.Context, d *Definition, container *spec.ContainerDefinition) error {
	container.MountPoints = []spec.MountPoint{}
	for i, given := range c.StringSlice("volume") {
		parts := strings.Split(given, ":")
		if strings.HasPrefix(parts[0], ".") {
			return exit.Usagef("--volume %q: relative paths are not taken, for the directory is one of the host that runs the task: give its absolute path there", given)
		}
		readOnly := len(parts) == 3 && parts[2] == "ro"
		if len(parts) < 2 || len(parts) == 3 && !readOnly && parts[2] != "rw" || len(parts) > 3 ||
			!isVolumeSource(parts[0]) || !strings.HasPrefix(parts[1], "/") {
			return exit.Usagef("--volume %q is not HOST:CONTAINER or HOST:CONTAINER:ro, with an absolute path or a volume name of the host and an absolute path", given)
		}
		name := fmt.Sprintf("volume-%d", i+1)
		d.Volumes = append(d.Volumes, spec.Volume{Name: name, Host: &spec.HostVolume{SourcePath: parts[0]}})
		container.MountPoints = append(container.MountPoints, spec.MountPoint{SourceVolume: name, ContainerPath: parts[1], ReadOnly: readOnly})
	}
	return nil
}
