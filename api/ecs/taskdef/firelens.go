package taskdef

import (
	"pinion/api/ecs/field"
	"pinion/raftfsm/label"
	"pinion/raftfsm/spec"
)

// checkLogRouter holds the rules for the log router of a task, and for the containers whose lines it gets.
func checkLogRouter(d *spec.TaskDefinition) error {
	router := d.LogRouter()
	for _, c := range containersOf(d) {
		if c.FirelensConfiguration == nil {
			continue
		}
		if c.Name != router.Name {
			return c.errorf("firelensConfiguration", "firelensConfiguration: container '%s' is the log router of the task already, and a task has one.", router.Name)
		}
		if err := c.FirelensConfiguration.Check(); err != nil {
			return c.errorf("firelensConfiguration", "firelensConfiguration: %v.", err)
		}
		if c.LogConfiguration.Routed() {
			return c.errorf("logConfiguration.logDriver", "logConfiguration.logDriver awsfirelens would give the log router its own lines: choose another one.")
		}
	}
	for _, c := range containersOf(d) {
		if !c.LogConfiguration.Routed() {
			continue
		}
		if router == nil {
			return c.errorf("logConfiguration.logDriver", "logConfiguration.logDriver awsfirelens needs a container with a firelensConfiguration, which routes the lines.")
		}
		secret := []string{}
		for _, s := range c.LogConfiguration.SecretOptions {
			secret = append(secret, s.Name)
		}
		if err := router.FirelensConfiguration.CheckOptions(c.LogConfiguration.Options, secret); err != nil {
			return c.errorf("logConfiguration.options", "logConfiguration.options: %v.", err)
		}
		if router.DockerLabels[label.SecretFiles] != "" && len(secret) > 0 {
			return c.errorf(field.Join("logConfiguration", "secretOptions"), "logConfiguration.secretOptions are variables of the log router '%s', whose label %s has its secrets in files: remove the label.", router.Name, label.SecretFiles)
		}
	}
	return nil
}
