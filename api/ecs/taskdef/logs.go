package taskdef

import "pinion/raftfsm/spec"

func checkLogConfiguration(c container) error {
	if c.LogConfiguration == nil {
		return nil
	}
	driver, known := spec.FindLogDriver(c.LogConfiguration.LogDriver)
	if !known {
		return c.errorf("logConfiguration.logDriver", "logConfiguration.logDriver %q is not supported by Pinion yet: use awslogs or json-file, whose logs the host keeps.", c.LogConfiguration.LogDriver)
	}
	for _, option := range driver.Options {
		if value, given := c.LogConfiguration.Options[option.Name]; given && option.Valid != nil && !option.Valid(value) {
			return c.errorf("logConfiguration.options."+option.Name, "logConfiguration.options %s must be %s, not %q.", option.Name, option.Want, value)
		}
	}
	return nil
}
