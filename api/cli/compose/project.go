package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"pinion/api/cli/exit"
	"pinion/api/cli/run"
	rolling "pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// tagProject is the tag of services with the name of their project; Docker's label for it.
const tagProject = "com.docker.compose.project"

// project is what a Compose file makes of a cluster.
type project struct {
	name     string
	services []service // each after those that it depends on
}

// service is a service of a project.
type service struct {
	name         string // in the cluster: PROJECT-SERVICE
	definition   run.Definition
	settings     map[string]any // of CreateService, but for its name, its definition and its tags
	tags         []spec.Tag
	afterHealthy []string // names in the cluster of those that are healthy before it starts
}

// newProject makes the services of a file. What the pool has nothing for is an error.
func newProject(read *types.Project) (*project, error) {
	if err := unsupportedIn(read); err != nil {
		return nil, err
	}
	p := &project{name: read.Name}
	err := read.ForEachService(nil, func(name string, s *types.ServiceConfig) error {
		made, err := newService(read, *s)
		if err != nil {
			return exit.Usagef("service %s: %w", name, err)
		}
		p.services = append(p.services, made)
		return nil
	})
	return p, err
}

func newService(read *types.Project, s types.ServiceConfig) (service, error) {
	project := read.Name
	if err := unsupported(s); err != nil {
		return service{}, err
	}
	made := service{name: project + "-" + s.Name, settings: map[string]any{}, tags: []spec.Tag{{Key: tagProject, Value: project}}}
	if !spec.ValidName(made.name) {
		return service{}, fmt.Errorf("%q is not a name of a service: up to 255 letters, digits, - and _", made.name)
	}
	for on, how := range s.DependsOn {
		if how.Condition == types.ServiceConditionHealthy {
			made.afterHealthy = append(made.afterHealthy, project+"-"+on)
		}
	}
	if err := made.setReplicas(s); err != nil {
		return service{}, err
	}
	made.setRollout(s)
	var err error
	if made.definition, err = newDefinition(read, s); err == nil {
		made.setNames(s)
	}
	return made, err
}

// setReplicas sets how many tasks there are, or that there is one on each host.
func (made *service) setReplicas(s types.ServiceConfig) error {
	replicas := 1
	if s.Scale != nil {
		replicas = *s.Scale
	}
	if s.Deploy != nil && s.Deploy.Replicas != nil {
		replicas = *s.Deploy.Replicas
	}
	switch mode := deployOf(s).Mode; mode {
	case "global":
		made.settings["schedulingStrategy"] = string(rolling.Daemon)
	case "", "replicated":
		made.settings["desiredCount"] = replicas
	default:
		return fmt.Errorf("deploy.mode %q: it is replicated or global", mode)
	}
	return nil
}

// setRollout sets how tasks replace others. A rollout that fails is rolled back unless the file wants it to go on.
func (made *service) setRollout(s types.ServiceConfig) {
	deploy := deployOf(s)
	update := cmp.Or(deploy.UpdateConfig, &types.UpdateConfig{})
	back := update.FailureAction != "continue"
	made.settings["deploymentConfiguration"] = map[string]any{"deploymentCircuitBreaker": map[string]any{"enable": back, "rollback": back}}
	switch update.Order {
	case "start-first":
		made.tags = append(made.tags, spec.Tag{Key: rolling.TagRollout, Value: string(rolling.Wait)})
	case "stop-first":
		made.tags = append(made.tags, spec.Tag{Key: rolling.TagRollout, Value: string(rolling.StopFirst)})
	}
	for key, value := range deploy.Labels {
		made.tags = append(made.tags, spec.Tag{Key: key, Value: value})
	}
	slices.SortFunc(made.tags, func(a, b spec.Tag) int { return strings.Compare(a.Key, b.Key) })
}

// deployOf is the part deploy of a service, empty where there is none.
func deployOf(s types.ServiceConfig) types.DeployConfig {
	if s.Deploy == nil {
		return types.DeployConfig{}
	}
	return *s.Deploy
}
