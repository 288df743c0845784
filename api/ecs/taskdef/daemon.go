package taskdef

import (
	"cmp"
	"encoding/json"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// ParseDaemon is Parse for a daemon task definition, which has some of the members of a task definition, under the same names and with the same
// rules. Its family is one of daemons.
func ParseDaemon(in *types.RegisterDaemonTaskDefinitionInput) (*spec.TaskDefinition, error) {
	err := cmp.Or(field.OneOf("pidMode", in.PIDMode, types.DaemonPIDModes...), field.OneOf("ipcMode", in.IPCMode, types.DaemonIPCModes...))
	if err != nil {
		return nil, err
	}
	same := *in
	same.PIDMode, same.IPCMode = sharedNamespace(in.PIDMode), sharedNamespace(in.IPCMode)
	text, err := json.Marshal(same)
	if err != nil {
		return nil, err
	}
	whole := &types.RegisterTaskDefinitionInput{}
	if err := wire.DecodeJSON(text, whole, wire.Lenient); err != nil {
		return nil, err
	}
	d, err := Parse(whole)
	if err != nil {
		return nil, err
	}
	d.Family = spec.DaemonPrefix + d.Family
	return d, nil
}

// sharedNamespace is the mode of a task definition for that of one of daemons: it shares the host's, or has its own.
func sharedNamespace(mode string) string {
	if mode == "shared" {
		return "host"
	}
	return ""
}
