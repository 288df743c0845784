package hostdevice

import (
	"pinion/node/task"
	"pinion/raftfsm/spec"
)

// Hooks are the hooks of a task: none when no container of its definition has devices.
func (a *Allowed) Hooks(of spec.Assignment) []task.Hook {
	for i := range of.Definition.Containers {
		if p := of.Definition.Containers[i].LinuxParameters; p != nil && len(p.Devices) > 0 {
			return []task.Hook{hook{a}}
		}
	}
	return nil
}

// hook gives the containers of a task their devices.
type hook struct{ allowed *Allowed }

var _ task.SpecHook = hook{}

func (hook) Name() string { return "devices" }

// BuildSpec looks the devices up anew for each start: they may have gone since, or be others.
func (h hook) BuildSpec(s *task.Start) error {
	s.Spec.Devices = nil
	if s.Spec.Def.LinuxParameters == nil {
		return nil
	}
	for _, wanted := range s.Spec.Def.LinuxParameters.Devices {
		found, err := h.allowed.Find(wanted)
		if err != nil {
			return &task.StartError{Kind: task.KindCannotStart, Container: s.Container, Err: err}
		}
		s.Spec.Devices = append(s.Spec.Devices, found...)
	}
	return nil
}
