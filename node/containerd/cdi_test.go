package containerd

import (
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestAHookWithoutAnEnvironmentIsRefused(t *testing.T) {
	good := specs.Hook{Path: "/hook", Env: []string{"PATH=/bin"}}
	bad := specs.Hook{Path: "/hook"}
	if err := checkHooks(&specs.Hooks{CreateContainer: []specs.Hook{good}, Poststop: []specs.Hook{good}}); err != nil {
		t.Error(err)
	}
	if err := checkHooks(nil); err != nil {
		t.Error(err)
	}
	for name, hooks := range map[string]specs.Hooks{
		"prestart": {Prestart: []specs.Hook{bad}}, "createRuntime": {CreateRuntime: []specs.Hook{good, bad}},
		"createContainer": {CreateContainer: []specs.Hook{bad}}, "startContainer": {StartContainer: []specs.Hook{bad}},
		"poststart": {Poststart: []specs.Hook{bad}}, "poststop": {Poststop: []specs.Hook{bad}},
	} {
		if checkHooks(&hooks) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
