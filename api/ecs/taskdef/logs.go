package taskdef

import (
	"maps"
	"slices"
	"strings"

	"pinion/api/ecs/field"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/valuefrom"
)

func checkLogConfiguration(c container) error {
	if c.LogConfiguration == nil {
		return nil
	}
	driver, known := logdriver.Find(c.LogConfiguration.LogDriver)
	if !known {
		return c.errorf("logConfiguration.logDriver", "logConfiguration.logDriver %q is not supported by Pinion yet: use one of %s.", c.LogConfiguration.LogDriver, strings.Join(logdriver.Names(), ", "))
	}
	if c.LogConfiguration.Routed() {
		return checkSecretOptions(c, driver) // the options are the router's, see checkLogRouter
	}
	for _, name := range slices.Sorted(maps.Keys(c.LogConfiguration.Options)) {
		if err := checkLogOption(c, driver, name); err != nil {
			return err
		}
	}
	if err := checkSecretOptions(c, driver); err != nil {
		return err
	}
	for _, option := range driver.Options {
		if value, given := c.LogConfiguration.Options[option.Name]; given && option.Valid != nil && !option.Valid(value) {
			return c.errorf("logConfiguration.options."+option.Name, "logConfiguration.options %s must be %s, not %q.", option.Name, option.Want, value)
		}
	}
	if err := c.LogConfiguration.CheckForward(); err != nil {
		return c.errorf("logConfiguration.options", "logConfiguration.options: %v.", err)
	}
	if _, err := c.LogConfiguration.Multiline(); err != nil {
		return c.errorf("logConfiguration.options", "logConfiguration.options: %v.", err)
	}
	if _, err := c.LogConfiguration.Rotation(); err != nil {
		return c.errorf("logConfiguration.options", "logConfiguration.options: %v.", err)
	}
	return nil
}

// checkSecretOptions holds the rules for options whose values are secrets. Whether the pool keeps those is seen when a task starts.
func checkSecretOptions(c container, driver logdriver.Driver) error {
	all := c.LogConfiguration.SecretOptions
	for i, s := range all {
		path := field.Join("logConfiguration", field.Index("secretOptions", i))
		if !c.LogConfiguration.Routed() {
			if err := checkLogOption(c, driver, s.Name); err != nil {
				return err
			}
		}
		_, inClear := c.LogConfiguration.Options[s.Name]
		switch {
		case !driver.AllowsSecret(s.Name):
			return c.errorf(field.Join(path, "name"), "logConfiguration.secretOptions: %s of %s is no secret: hosts and placement read it. Name it in options.", s.Name, driver.Name)
		case inClear || slices.ContainsFunc(all[:i], func(other valuefrom.Secret) bool { return other.Name == s.Name }):
			return c.errorf(field.Join(path, "name"), "logConfiguration.secretOptions: %s is there twice: an option stands once, in options or in secretOptions.", s.Name)
		}
		if _, err := valuefrom.Parse(s.ValueFrom); err != nil {
			return c.errorf(field.Join(path, "valueFrom"), "logConfiguration.secretOptions %s: %v.", s.Name, err)
		}
	}
	return nil
}

// checkLogOption refuses an option that would have no effect.
func checkLogOption(c container, driver logdriver.Driver, name string) error {
	known := make([]string, 0, len(driver.Options))
	for _, option := range driver.Options {
		if option.Name == name {
			return nil
		}
		known = append(known, option.Name)
	}
	member := "logConfiguration.options." + name
	if why := logdriver.Refused(name); why != "" {
		return c.errorf(member, "logConfiguration.options %s is not supported by Pinion yet: %s. Remove it.", name, why)
	}
	return c.errorf(member, "logConfiguration.options %q is not an option of %s that Pinion knows: there are %s.", name, driver.Name, strings.Join(known, ", "))
}
