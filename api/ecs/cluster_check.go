package ecs

import (
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// check holds ECS's rules, and takes what is empty for not given: some clients send it.
func (in *clusterInput) check() error {
	if err := checkSettings(in.Settings); err != nil {
		return err
	}
	if in.Configuration == nil {
		return nil
	}
	if exec := in.Configuration.ExecuteCommand; exec != nil {
		if err := checkExecuteCommand(exec); err != nil {
			return err
		}
		if *exec == (spec.ExecuteCommandConfiguration{}) {
			in.Configuration.ExecuteCommand = nil
		}
	}
	if storage := in.Configuration.ManagedStorage; storage != nil && *storage == (spec.ManagedStorageConfiguration{}) {
		in.Configuration.ManagedStorage = nil
	}
	if *in.Configuration == (spec.ClusterConfiguration{}) {
		in.Configuration = nil
	}
	return nil
}

func checkExecuteCommand(exec *spec.ExecuteCommandConfiguration) error {
	if err := inEnum("configuration.executeCommandConfiguration.logging", exec.Logging, "NONE", "DEFAULT", "OVERRIDE"); err != nil {
		return err
	}
	if exec.Log != nil && *exec.Log == (spec.ExecuteCommandLogTarget{}) {
		exec.Log = nil
	}
	if (exec.Logging == "OVERRIDE") != (exec.Log != nil) {
		return wire.Errorf(wire.InvalidParameter, "configuration.executeCommandConfiguration.logConfiguration goes with logging OVERRIDE: give both or neither.")
	}
	return nil
}

func checkSettings(settings []spec.Setting) error {
	for _, s := range settings {
		if s.Name == "" {
			return wire.Errorf(wire.InvalidParameter, "settings.name must not be empty")
		}
		if err := inEnum("settings.name", s.Name, containerInsights.name); err != nil {
			return err
		}
		if err := allInEnum("settings.value of containerInsights", []string{s.Value}, containerInsights.values...); err != nil {
			return err
		}
	}
	return nil
}
