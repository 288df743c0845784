package compose

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"pinion/api/cli/exit"
)

// instead says what to do in place of what is refused.
var instead = map[string]string{
	"build":                    "build the image, push it, and name it with image",
	"container_name":           "a service has several containers; it is called PROJECT-SERVICE",
	"networks":                 "the services of a cluster reach each other by their names in the file",
	"links":                    "the services of a cluster reach each other by their names in the file",
	"configs":                  "give the program a file of its host, a variable, or a secret of the pool",
	"uid":                      "every process of the container may read the file",
	"gid":                      "every process of the container may read the file",
	"mode":                     "every process of the container may read the file",
	"tmpfs":                    "use volumes with type: tmpfs and a size",
	"restart_policy.condition": "a service is started again whenever it ends: any is supported",

	"restart": "a service is started again whenever it ends, as with always: `pinion run --retries N` is for what ends",
}

// unsupportedIn refuses what a file has beside services that the pool has nothing for.
func unsupportedIn(p *types.Project) error {
	networks := slices.DeleteFunc(slices.Sorted(maps.Keys(p.Networks)), func(name string) bool { return name == "default" })
	for name, n := range map[string]int{"networks": len(networks), "configs": len(p.Configs), "models": len(p.Models)} {
		if n > 0 {
			return exit.Usagef("%w", refuse("", name))
		}
	}
	if err := unsupportedSecrets(p); err != nil {
		return exit.Usagef("%w", err)
	}
	for name, v := range p.Volumes {
		if v.Driver != "" && v.Driver != "local" || len(v.DriverOpts) > 0 {
			return exit.Usagef("the volume %s has a driver or options: a named volume is a directory of the host that runs the task, and its operator can name another with pinion up --volume NAME=DIR; a network file system is one that hosts mount with pinion up --file-system NAME=TYPE:SOURCE, for volumes with efsVolumeConfiguration of task definitions", name)
		}
	}
	if len(p.Services) == 0 {
		return exit.Usagef("the project %s has no services, or none of the profiles that were asked for", p.Name)
	}
	return nil
}

func refuse(in, name string) error {
	if do := instead[name]; do != "" {
		return fmt.Errorf("%s%s is not supported: %s", in, name, do)
	}
	return fmt.Errorf("%s%s is not supported: leave it out", in, name)
}

// unsupported refuses the members of a service that newService does nothing with: it takes out what is known, and what is left is refused.
func unsupported(s types.ServiceConfig) error {
	deploy := deployOf(s)
	restart, condition := s.Restart, ""
	if deploy.RestartPolicy != nil {
		condition = deploy.RestartPolicy.Condition
	}
	network, isDefault := s.Networks["default"]
	switch {
	case !slices.Contains([]string{"", "always", "unless-stopped"}, restart):
		return refuse("", "restart")
	case !slices.Contains([]string{"", "any"}, condition):
		return refuse("deploy.", "restart_policy.condition")
	case len(s.Networks) > 1, len(s.Networks) == 1 && !isDefault, network != nil:
		return refuse("", "networks")
	}
	for on, how := range s.DependsOn {
		if how.Condition == types.ServiceConditionCompletedSuccessfully {
			return fmt.Errorf("depends_on %s until it has completed is not supported: a service does not complete", on)
		}
	}
	s.Name, s.Image, s.Command, s.Entrypoint, s.Environment, s.EnvFiles = "", "", nil, nil, nil, nil
	s.WorkingDir, s.User, s.Hostname, s.Labels, s.Ports, s.Expose = "", "", "", nil, nil, nil
	s.Volumes, s.DNS, s.DNSSearch, s.SecurityOpt, s.ExtraHosts, s.Sysctls = nil, nil, nil, nil, nil, nil
	s.Privileged, s.ReadOnly, s.Tty, s.StdinOpen, s.Init, s.Logging = false, false, false, false, nil, nil
	s.Networks, s.NetworkMode, s.DependsOn, s.Restart, s.Profiles, s.Scale = nil, "", nil, "", nil, nil
	s.CPUS, s.MemLimit, s.MemReservation, s.ShmSize, s.Gpus = 0, 0, 0, 0, nil
	s.StopGracePeriod, s.CapAdd, s.CapDrop, s.Ulimits, s.HealthCheck = nil, nil, nil, nil, nil
	s.Secrets, s.Devices, s.Deploy = nil, nil, nil
	if err := leftOver("", s); err != nil {
		return err
	}
	return unsupportedDeploy(deploy)
}

func unsupportedDeploy(d types.DeployConfig) error {
	if d.RestartPolicy != nil {
		policy := *d.RestartPolicy
		if policy.Condition = ""; leftOver("", policy) != nil {
			return leftOver("deploy.restart_policy.", policy)
		}
	}
	if d.UpdateConfig != nil {
		update := *d.UpdateConfig
		if update.FailureAction == "pause" {
			return fmt.Errorf("deploy.update_config.failure_action pause is not supported: rollback and continue are")
		}
		if update.Order, update.FailureAction = "", ""; leftOver("", update) != nil {
			return leftOver("deploy.update_config.", update)
		}
	}
	for name, r := range map[string]*types.Resource{"limits": d.Resources.Limits, "reservations": d.Resources.Reservations} {
		if r == nil {
			continue
		}
		rest := *r
		rest.NanoCPUs, rest.MemoryBytes = 0, 0
		if name == "reservations" {
			rest.Devices = nil
		}
		if err := leftOver("deploy.resources."+name+".", rest); err != nil {
			return err
		}
	}
	d.Mode, d.Replicas, d.Labels, d.RestartPolicy, d.UpdateConfig, d.Resources = "", nil, nil, nil, nil, types.Resources{}
	return leftOver("deploy.", d)
}

// leftOver refuses the first member that has a value.
func leftOver(in string, part any) error {
	document, err := json.Marshal(part)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(document, &members); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if text := string(members[name]); !slices.Contains([]string{"null", "0", `""`, "{}", "[]", "false", `"0s"`}, strings.TrimSpace(text)) {
			return refuse(in, name)
		}
	}
	return nil
}
