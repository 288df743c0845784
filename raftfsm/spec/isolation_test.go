package spec

import "testing"

func TestEscapes(t *testing.T) {
	yes := true
	mount := func(source string, readOnly bool) TaskDefinition {
		return TaskDefinition{
			Volumes:    []Volume{{Name: "v", Host: &HostVolume{SourcePath: source}}},
			Containers: []ContainerDefinition{{Name: "c", MountPoints: []MountPoint{{SourceVolume: "v", ContainerPath: "/v", ReadOnly: readOnly}}}},
		}
	}
	power := func(name string) TaskDefinition {
		return TaskDefinition{Containers: []ContainerDefinition{{Name: "c", LinuxParameters: &LinuxParameters{Capabilities: &Capabilities{Add: []string{name}}}}}}
	}
	for name, c := range map[string]struct {
		definition TaskDefinition
		want       string
	}{
		"nothing":                  {TaskDefinition{Containers: []ContainerDefinition{{Name: "c"}}}, ""},
		"privileged":               {TaskDefinition{Containers: []ContainerDefinition{{Name: "c", Privileged: &yes}}}, "container c is privileged"},
		"a harmless capability":    {power("NET_ADMIN"), ""},
		"the system administrator": {power("SYS_ADMIN"), "container c has the capability SYS_ADMIN"},
		"with prefix, lower case":  {power("cap_sys_rawio"), "container c has the capability cap_sys_rawio"},
		"data":                     {mount("/data", false), ""},
		"a name that only begins":  {mount("/system", false), ""},
		"control groups":           {mount("/sys/fs/cgroup", false), "container c may write to the host's /sys/fs/cgroup"},
		"read only":                {mount("/sys/fs/cgroup", true), ""},
		"everything":               {mount("/data/..", false), "container c may write to the host's /"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.definition.IsolationViolation(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
