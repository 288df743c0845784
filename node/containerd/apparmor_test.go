package containerd

import (
	"testing"

	"pinion/raftfsm/spec"
)

func TestWhichAppArmorProfileConfinesAContainer(t *testing.T) {
	for name, c := range map[string]struct {
		options    []string
		privileged bool
		loaded     bool
		want       string
		refused    bool
	}{
		"usual":                            {loaded: true, want: "pinion-default"},
		"a kernel without":                 {},
		"privileged":                       {privileged: true, loaded: true},
		"a named one tightens":             {options: []string{"no-new-privileges", "apparmor:strict"}, loaded: true, want: "pinion-default//&strict"},
		"a named one of a privileged":      {options: []string{"apparmor:strict"}, privileged: true, loaded: true, want: "strict"},
		"a named one on a kernel without":  {options: []string{"apparmor:strict"}, refused: true},
		"none at all, past the API":        {options: []string{"apparmor:unconfined"}, loaded: true, refused: true},
		"a second command, past the API":   {options: []string{"apparmor:a\nb"}, loaded: true, refused: true},
		"another namespace, past the API":  {options: []string{"apparmor::ns:p"}, loaded: true, refused: true},
		"privileged unconfined, past that": {options: []string{"apparmor:unconfined"}, privileged: true, loaded: true, refused: true},
	} {
		got, err := apparmorLabel(&spec.ContainerDefinition{DockerSecurityOptions: c.options, Privileged: &c.privileged}, c.loaded)
		if got != c.want || (err != nil) != c.refused {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
