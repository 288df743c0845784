package taskdef

import (
	"fmt"
	"strings"
	"testing"
)

// processRefusals are definitions that could only fail at the start of a container.
var processRefusals = []refusal{
	{"an image of dots", `{"family":"f","containerDefinitions":[{"name":"c","image":"..","memory":64}]}`, "containerDefinitions[0].image", "'c'"},
	{"an image by its address", `{"family":"f","containerDefinitions":[{"name":"c","image":"http://registry/x","memory":64}]}`, "containerDefinitions[0].image", `"http://registry/x"`},
	{"an image of no digest", `{"family":"f","containerDefinitions":[{"name":"c","image":"x@sha256:zz","memory":64}]}`, "containerDefinitions[0].image", "x@sha256:zz"},
	{"an image without an end", `{"family":"f","containerDefinitions":[{"name":"c","image":"` + strings.Repeat("x", 5000) + `","memory":64}]}`, "containerDefinitions[0].image", "not the name of an image"},
	{"a command with an end in it", oneContainer(`"command":["a\u0000b"]`), "containerDefinitions[0].command", "NUL"},
	{"an entry point with an end in it", oneContainer(`"entryPoint":["a\u0000b"]`), "containerDefinitions[0].entryPoint", "NUL"},
	{"a user below the first", oneContainer(`"user":"-1"`), "containerDefinitions[0].user", `"-1"`},
	{"a user above the last", oneContainer(`"user":"2147483648:1"`), "containerDefinitions[0].user", `"2147483648:1"`},
	{"a user as a path", oneContainer(`"user":"../x"`), "containerDefinitions[0].user", `"../x"`},
	{"a user of three parts", oneContainer(`"user":"1:2:3"`), "containerDefinitions[0].user", `"1:2:3"`},
	{"a relative directory", oneContainer(`"workingDirectory":"tmp"`), "containerDefinitions[0].workingDirectory", `"tmp"`},
	{"a security option that loosens", oneContainer(`"dockerSecurityOptions":["seccomp:unconfined"]`), "containerDefinitions[0].dockerSecurityOptions[0]", `"seccomp:unconfined"`},
	{"a value with an end in it", oneContainer(`"environment":[{"name":"A","value":"\u0000"}]`), "containerDefinitions[0].environment", "the value of the environment variable A has a NUL"},
	{"the same ulimit twice", oneContainer(`"ulimits":[{"name":"core","softLimit":1,"hardLimit":1},{"name":"core","softLimit":2,"hardLimit":2}]`), "containerDefinitions[0].ulimits[1].name", "twice"},
	{"a parameter with a way out", oneContainer(`"systemControls":[{"namespace":"net...kernel.core_pattern","value":"1"}]`), "containerDefinitions[0].systemControls[0].namespace", "core_pattern"},
	{"a directory with an end in it", taskWith(`"volumes":[{"name":"v","host":{"sourcePath":"/a\u0000b"}}]`), "volumes[0].host.sourcePath", "absolute path"},
	{"a directory without an end", taskWith(`"volumes":[{"name":"v","host":{"sourcePath":"/` + strings.Repeat("x", 5000) + `"}}]`), "volumes[0].host.sourcePath", "absolute path"},
	{"a relative directory of the host", taskWith(`"volumes":[{"name":"v","host":{"sourcePath":"./data"}}]`), "volumes[0].host.sourcePath", "local/cache"},
	{"a way out of a named directory", taskWith(`"volumes":[{"name":"v","host":{"sourcePath":"local/../x"}}]`), "volumes[0].host.sourcePath", "local/../x"},
	{"a mount point with an end in it", inMode(`"volumes":[{"name":"v"}]`, oneContainer(`"mountPoints":[{"sourceVolume":"v","containerPath":"/a\u0000"}]`)), "containerDefinitions[0].mountPoints[0].containerPath", "absolute path"},
	{"more containers than a task can have", containers(11), "containerDefinitions", "at most 10 containers, not 11"},
}

// containers is a definition with so many containers.
func containers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"name":"c%d","image":"i","memory":64}`, i))
	}
	return `{"family":"f","containerDefinitions":[` + strings.Join(all, ",") + `]}`
}

func TestWhatContainersMayRun(t *testing.T) {
	for _, body := range []string{
		oneContainer(`"user":"nobody:nogroup"`), oneContainer(`"user":"1000"`), oneContainer(`"user":"svc.app-1:0"`), oneContainer(`"workingDirectory":"/"`),
		oneContainer(`"dockerSecurityOptions":["no-new-privileges"]`), oneContainer(`"dockerSecurityOptions":[]`),
		oneContainer(`"command":["",".","é"]`), oneContainer(`"systemControls":[{"namespace":"net.ipv4.conf.eth0.rp_filter","value":"1"}]`),
		taskWith(`"volumes":[{"name":"v","host":{"sourcePath":"models/a b"}},{"name":"w","host":{"sourcePath":"/data"}},{"name":"x","host":{"sourcePath":"local"}}]`),
		containers(10),
	} {
		if _, err := parse(t, body); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}
