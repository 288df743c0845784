package taskdef

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// oneContainer wraps the members of one container into a task definition.
func oneContainer(members string) string {
	return `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64,` + members + `}]}`
}

// taskWith wraps members of the task itself around one plain container.
func taskWith(members string) string {
	return `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64}],` + members + `}`
}

// two are the members of two containers, of which the first is not essential.
func two(first, second string) string {
	return `{"family":"f","memory":"64","containerDefinitions":[{"name":"a","image":"i","essential":false,` + first + `},{"name":"b","image":"i",` + second + `}]}`
}

func gpuRequirement(members string) string {
	return oneContainer(`"resourceRequirements":[{"type":"GPU",` + members + `}]`)
}

// inMode adds a member to a document.
func inMode(mode, body string) string { return `{` + mode + `,` + body[1:] }

const (
	after  = `"dependsOn":[{"containerName":"a","condition":"START"}]`
	health = `"healthCheck":{"command":["CMD","true"],`
)

type refusal struct{ name, body, path, says string }

// refusals are definitions that are wrong in one member: its path, and what the message has in it beside the name of the member. Where
// clients look for Amazon's text, that is all of it.
var refusals = []refusal{
	{"no family", `{"containerDefinitions":[{"name":"c","image":"i","memory":64}]}`, "family", "Family should not be null or empty. Name the task definition with the field family (pinion register --family NAME)."},
	{"a family with a blank", `{"family":"a b","containerDefinitions":[{"name":"c","image":"i","memory":64}]}`, "family", "invalid characters"},
	{"no containers", `{"family":"f"}`, "containerDefinitions", "Container list cannot be empty."},
	{"a container without a name", `{"family":"f","containerDefinitions":[{"image":"i","memory":64}]}`, "containerDefinitions[0].name", "Container.name should not be null or empty."},
	{"a container without an image", `{"family":"f","containerDefinitions":[{"name":"c","memory":64}]}`, "containerDefinitions[0].image", "Container.image should not be null or empty."},
	{"no memory at all", `{"family":"f","containerDefinitions":[{"name":"c","image":"i"}]}`, "containerDefinitions[0].memory", "Invalid setting for container 'c'. At least one of 'memory' or 'memoryReservation' must be specified."},
	{"less than can start", oneContainer(`"memoryReservation":5`), "containerDefinitions[0].memoryReservation", "at least 6 MiB"},
	{"a reservation above the limit", oneContainer(`"memoryReservation":65`), "containerDefinitions[0].memory", "greater than"},
	{"a reservation as large as the limit", oneContainer(`"memoryReservation":64`), "containerDefinitions[0].memory", "greater than"},
	{"containers larger than the task", taskWith(`"memory":"32"`), "memory", "64 MiB"},
	{"a memory that is not one", taskWith(`"memory":"2 TB"`), "memory", "2 TB"},
	{"a cpu that is not one", taskWith(`"cpu":"-1"`), "cpu", "-1"},
	{"none essential", oneContainer(`"essential":false`), "containerDefinitions", "At least one container in the task definition must be marked as essential."},
	{"twice the same name", `{"family":"f","memory":"64","containerDefinitions":[{"name":"c","image":"i"},{"name":"c","image":"i"}]}`, "containerDefinitions[1].name", "twice"},
	{"a mount of no volume", oneContainer(`"mountPoints":[{"sourceVolume":"v","containerPath":"/v"}]`), "containerDefinitions[0].mountPoints[0].sourceVolume", "'v'"},
	{"ports without a network", `{"family":"f","networkMode":"none","containerDefinitions":[{"name":"c","image":"i","memory":64,"portMappings":[{"containerPort":80}]}]}`, "containerDefinitions[0].portMappings", "networkMode none"},
	{"another host port in host mode", `{"family":"f","networkMode":"host","containerDefinitions":[{"name":"c","image":"i","memory":64,"portMappings":[{"containerPort":80,"hostPort":81}]}]}`, "containerDefinitions[0].portMappings[0].hostPort", "networkMode host"},
	{"the same host port twice", oneContainer(`"portMappings":[{"containerPort":80,"hostPort":8080},{"containerPort":81,"hostPort":8080}]`), "containerDefinitions[0].portMappings[1].hostPort", "twice"},
	{"another host port in mode awsvpc", inMode(`"networkMode":"awsvpc"`, oneContainer(`"portMappings":[{"containerPort":80,"hostPort":81}]`)), "containerDefinitions[0].portMappings[0].hostPort", "networkMode awsvpc"},
	{"a host name in mode awsvpc", inMode(`"networkMode":"awsvpc"`, oneContainer(`"hostname":"h"`)), "containerDefinitions[0].hostname", "networkMode awsvpc"},
	{"links in mode awsvpc", inMode(`"networkMode":"awsvpc"`, oneContainer(`"links":["db"]`)), "containerDefinitions[0].links", "networkMode bridge"},
	{"a volume of a plugin", taskWith(`"volumes":[{"name":"v","dockerVolumeConfiguration":{"driver":"rexray/ebs"}}]`), "volumes[0].dockerVolumeConfiguration.driver", "rexray/ebs"},
	{"a mount that a definition asks for", taskWith(`"volumes":[{"name":"v","dockerVolumeConfiguration":{"scope":"shared","driverOpts":{"type":"none","o":"bind","device":"/etc"}}}]`), "volumes[0].dockerVolumeConfiguration.driverOpts", "--volume NAME=DIR"},
	{"a volume of the whole world", taskWith(`"volumes":[{"name":"v","dockerVolumeConfiguration":{"scope":"global"}}]`), "volumes[0].dockerVolumeConfiguration.scope", "global"},
	{"a volume of two kinds", taskWith(`"volumes":[{"name":"v","host":{"sourcePath":"/data"},"dockerVolumeConfiguration":{"scope":"shared"}}]`), "volumes[0].dockerVolumeConfiguration", "host.sourcePath"},
	{"a file system without a name", taskWith(`"volumes":[{"name":"v","efsVolumeConfiguration":{"fileSystemId":"10.0.0.5:/models"}}]`), "volumes[0].efsVolumeConfiguration.fileSystemId", "--file-system NAME="},
	{"a directory outside of its file system", taskWith(`"volumes":[{"name":"v","efsVolumeConfiguration":{"fileSystemId":"models","rootDirectory":"/a/../../etc"}}]`), "volumes[0].efsVolumeConfiguration.rootDirectory", "/a/../../etc"},
	{"a relative directory in a file system", taskWith(`"volumes":[{"name":"v","efsVolumeConfiguration":{"fileSystemId":"models","rootDirectory":"a"}}]`), "volumes[0].efsVolumeConfiguration.rootDirectory", `"a"`},
	{"encryption by halves", taskWith(`"volumes":[{"name":"v","efsVolumeConfiguration":{"fileSystemId":"models","transitEncryption":"yes"}}]`), "volumes[0].efsVolumeConfiguration.transitEncryption", "yes"},
	{"a port that is none", taskWith(`"volumes":[{"name":"v","efsVolumeConfiguration":{"fileSystemId":"models","transitEncryptionPort":65536}}]`), "volumes[0].efsVolumeConfiguration.transitEncryptionPort", "65536"},
	{"an access point", taskWith(`"volumes":[{"name":"v","efsVolumeConfiguration":{"fileSystemId":"models","authorizationConfig":{"accessPointId":"fsap-1"}}}]`), "volumes[0].efsVolumeConfiguration.authorizationConfig.accessPointId", "rootDirectory"},
	{"a role for a file system", taskWith(`"volumes":[{"name":"v","efsVolumeConfiguration":{"fileSystemId":"models","authorizationConfig":{"iam":"ENABLED"}}}]`), "volumes[0].efsVolumeConfiguration.authorizationConfig.iam", "IAM"},
	{"a file system and a directory", taskWith(`"volumes":[{"name":"v","host":{"sourcePath":"/data"},"efsVolumeConfiguration":{"fileSystemId":"models"}}]`), "volumes[0].efsVolumeConfiguration", "host.sourcePath"},
	{"FARGATE", taskWith(`"requiresCompatibilities":["FARGATE"]`), "requiresCompatibilities[0]", "FARGATE"},
	{"empty tags", taskWith(`"tags":[]`), "tags", "Tags can not be empty."},
	{"a log driver that is not there", oneContainer(`"logConfiguration":{"logDriver":"sumologic"}`), "containerDefinitions[0].logConfiguration.logDriver", "sumologic"},
	{"input that nobody writes", oneContainer(`"interactive":true`), "containerDefinitions[0].interactive", "pseudoTerminal"},
	{"a label of the runtime", oneContainer(`"dockerLabels":{"containerd.io/gc.root":"x"}`), "containerDefinitions[0].dockerLabels", "reserved"},
	{"a label of Pinion", oneContainer(`"dockerLabels":{"Pinion.task":"x"}`), "containerDefinitions[0].dockerLabels", "reserved"},
	{"a label with a NUL", oneContainer(`"dockerLabels":{"a":"x\u0000y"}`), "containerDefinitions[0].dockerLabels", "NUL"},
	{"a label without a name", oneContainer(`"dockerLabels":{"":"x"}`), "containerDefinitions[0].dockerLabels", "4096"},
	{"a label that is too long", oneContainer(`"dockerLabels":{"a":"` + strings.Repeat("x", 4096) + `"}`), "containerDefinitions[0].dockerLabels", "4096"},
	{"a log address that is none", oneContainer(`"logConfiguration":{"logDriver":"syslog","options":{"syslog-address":"tcp://user@logs:1/x"}}`), "containerDefinitions[0].logConfiguration.options.syslog-address", "SCHEME://HOST:PORT"},
	{"a log address of another scheme", oneContainer(`"logConfiguration":{"logDriver":"syslog","options":{"syslog-address":"https://logs:1"}}`), "containerDefinitions[0].logConfiguration.options.syslog-address", "tcp+tls"},
	{"a log without its address", oneContainer(`"logConfiguration":{"logDriver":"gelf"}`), "containerDefinitions[0].logConfiguration.options", "gelf-address"},
	{"a buffer for a log", oneContainer(`"logConfiguration":{"logDriver":"fluentd","options":{"fluentd-buffer-limit":"1m"}}`), "containerDefinitions[0].logConfiguration.options.fluentd-buffer-limit", "max-size and max-file"},
	{"a key of the host for a log", oneContainer(`"logConfiguration":{"logDriver":"syslog","options":{"syslog-tls-key":"/etc/ssl/key"}}`), "containerDefinitions[0].logConfiguration.options.syslog-tls-key", "file of the host"},
	{"a tag of another template", oneContainer(`"logConfiguration":{"logDriver":"syslog","options":{"tag":"{{.ExtraAttributes nil}}"}}`), "containerDefinitions[0].logConfiguration.options.tag", "{{.ID}}"},
	{"events of several lines", oneContainer(`"logConfiguration":{"logDriver":"awslogs","options":{"awslogs-multiline-pattern":"(?=x)"}}`), "containerDefinitions[0].logConfiguration.options.awslogs-multiline-pattern", "RE2"},
	{"events by their time", oneContainer(`"logConfiguration":{"logDriver":"awslogs","options":{"awslogs-datetime-format":"%Q"}}`), "containerDefinitions[0].logConfiguration.options.awslogs-datetime-format", "strftime"},
	{"a log that stops the container", oneContainer(`"logConfiguration":{"logDriver":"awslogs","options":{"mode":"blocking"}}`), "containerDefinitions[0].logConfiguration.options.mode", "never waits for its log"},
	{"a buffer of no size", oneContainer(`"logConfiguration":{"logDriver":"awslogs","options":{"max-buffer-size":"big"}}`), "containerDefinitions[0].logConfiguration.options.max-buffer-size", `"big"`},
	{"a group that is perhaps created", oneContainer(`"logConfiguration":{"logDriver":"awslogs","options":{"awslogs-create-group":"maybe"}}`), "containerDefinitions[0].logConfiguration.options.awslogs-create-group", "true or false"},
	{"a log group that moves the cursor", oneContainer(`"logConfiguration":{"logDriver":"awslogs","options":{"awslogs-group":"\u001b[2J"}}`), "containerDefinitions[0].logConfiguration.options.awslogs-group", `control character`},
	{"a log option that nobody knows", oneContainer(`"logConfiguration":{"logDriver":"awslogs","options":{"awslogs-gruop":"x"}}`), "containerDefinitions[0].logConfiguration.options.awslogs-gruop", "there are max-size, max-file, mode, max-buffer-size, awslogs-group, awslogs-stream-prefix, awslogs-region, awslogs-create-group"},
	{"an option of another driver", oneContainer(`"logConfiguration":{"logDriver":"json-file","options":{"awslogs-group":"x"}}`), "containerDefinitions[0].logConfiguration.options.awslogs-group", "json-file"},
	{"an unknown ulimit", oneContainer(`"ulimits":[{"name":"x","softLimit":1,"hardLimit":1}]`), "containerDefinitions[0].ulimits[0].name", `"x"`},

	{"0 GPUs", gpuRequirement(`"value":"0"`), "containerDefinitions[0].resourceRequirements[0].value", `"0"`},
	{"-1 GPUs", gpuRequirement(`"value":"-1"`), "containerDefinitions[0].resourceRequirements[0].value", `"-1"`},
	{"1.5 GPUs", gpuRequirement(`"value":"1.5"`), "containerDefinitions[0].resourceRequirements[0].value", `"1.5"`},
	{"many GPUs", gpuRequirement(`"value":"many"`), "containerDefinitions[0].resourceRequirements[0].value", `"many"`},
	{"a bare number of GPUs", gpuRequirement(`"value":1.5`), "containerDefinitions[0].resourceRequirements[0].value", `1.5`},
	{"GPUs without a number", oneContainer(`"resourceRequirements":[{"type":"GPU"}]`), "containerDefinitions[0].resourceRequirements[0].value", "missing"},
	{"a count of 0", gpuRequirement(`"count":0`), "containerDefinitions[0].resourceRequirements[0].count", `0`},
	{"a count of -1", gpuRequirement(`"count":-1`), "containerDefinitions[0].resourceRequirements[0].count", `-1`},
	{"a count of 1.5", gpuRequirement(`"count":1.5`), "containerDefinitions[0].resourceRequirements[0].count", `1.5`},
	{"a count of many", gpuRequirement(`"count":"many"`), "containerDefinitions[0].resourceRequirements[0].count", `"many"`},
	{"a gpuCount of 0", oneContainer(`"gpuCount":0`), "containerDefinitions[0].gpuCount", `0`},
	{"two ways at once", oneContainer(`"gpuCount":1,"resourceRequirements":[{"type":"GPU","value":"1"}]`), "containerDefinitions[0].gpuCount", "more than once"},
	{"value and count", gpuRequirement(`"value":"1","count":1`), "containerDefinitions[0].resourceRequirements[0]", "both value and count"},
	{"a capability that is none", gpuRequirement(`"count":1,"capabilities":["teleport"]`), "containerDefinitions[0].resourceRequirements[0].capabilities", `"teleport"`},
	{"another accelerator", oneContainer(`"resourceRequirements":[{"type":"InferenceAccelerator","value":"d"}]`), "containerDefinitions[0].resourceRequirements[0].type", `"InferenceAccelerator"`},
	{"a part of a GPU and a whole one", gpuRequirement(`"value":"1","sharingStrategy":{"nvidiaMps":{"memory":1}}`), "containerDefinitions[0].resourceRequirements[0]", "both value and sharingStrategy"},
	{"a part of a GPU in no way", gpuRequirement(`"sharingStrategy":{}`), "containerDefinitions[0].resourceRequirements[0].sharingStrategy.nvidiaMps", "nvidiaMps"},
	{"a part of a GPU without memory", gpuRequirement(`"sharingStrategy":{"nvidiaMps":{}}`), "containerDefinitions[0].resourceRequirements[0].sharingStrategy.nvidiaMps.memory", `0`},
	{"more than all of a GPU", gpuRequirement(`"sharingStrategy":{"nvidiaMps":{"memory":1,"maxComputePercent":101}}`), "containerDefinitions[0].resourceRequirements[0].sharingStrategy.nvidiaMps.maxComputePercent", `101`},
	{"every GPU and one more", two(`"resourceRequirements":[{"type":"GPU","value":"ALL"}]`, `"gpuCount":1`), "containerDefinitions", "a, b"},
	{"whole GPUs beside parts of some", two(`"resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":1}}}]`, `"gpuCount":1`), "containerDefinitions", "a, b"},

	{"a health check without a command", oneContainer(`"healthCheck":{}`), "containerDefinitions[0].healthCheck.command", "must begin with CMD or CMD-SHELL"},
	{"a health check that does not say how to run it", oneContainer(`"healthCheck":{"command":["curl","localhost"]}`), "containerDefinitions[0].healthCheck.command", "must begin with CMD or CMD-SHELL"},
	{"no health check, spelt out", oneContainer(`"healthCheck":{"command":["NONE"]}`), "containerDefinitions[0].healthCheck.command", "must begin with CMD or CMD-SHELL"},
	{"a health check of nothing", oneContainer(`"healthCheck":{"command":["CMD-SHELL"]}`), "containerDefinitions[0].healthCheck.command", "no command"},
	{"words for the shell", oneContainer(`"healthCheck":{"command":["CMD-SHELL","curl","localhost"]}`), "containerDefinitions[0].healthCheck.command", "one line"},
	{"checks too often", oneContainer(health + `"interval":4}`), "containerDefinitions[0].healthCheck.interval", `4`},
	{"checks too short", oneContainer(health + `"timeout":1}`), "containerDefinitions[0].healthCheck.timeout", `1`},
	{"checks that never fail", oneContainer(health + `"retries":11}`), "containerDefinitions[0].healthCheck.retries", `11`},
	{"checks that start late", oneContainer(health + `"startPeriod":301}`), "containerDefinitions[0].healthCheck.startPeriod", `301`},
	{"a restart policy that does not say", oneContainer(`"restartPolicy":{}`), "containerDefinitions[0].restartPolicy.enabled", "missing"},
	{"restarts too soon", oneContainer(`"restartPolicy":{"enabled":true,"restartAttemptPeriod":59}`), "containerDefinitions[0].restartPolicy.restartAttemptPeriod", `59`},
	{"too little time to start", oneContainer(`"startTimeout":1`), "containerDefinitions[0].startTimeout", `1`},
	{"too much time to stop", oneContainer(`"stopTimeout":86401`), "containerDefinitions[0].stopTimeout", `86401`},

	{"waiting for nobody", two(``+`"cpu":1`, `"dependsOn":[{"containerName":"x","condition":"START"}]`), "containerDefinitions[1].dependsOn[0].containerName", `'x'`},
	{"waiting for itself", two(after, `"cpu":1`), "containerDefinitions[0].dependsOn[0].containerName", `'a'`},
	{"waiting for what never is", two(`"cpu":1`, `"dependsOn":[{"containerName":"a","condition":"READY"}]`), "containerDefinitions[1].dependsOn[0].condition", `"READY"`},
	{"waiting twice", two(`"cpu":1`, `"dependsOn":[{"containerName":"a","condition":"START"},{"containerName":"a","condition":"COMPLETE"}]`), "containerDefinitions[1].dependsOn[1].containerName", "twice"},
	{"waiting for health that nobody checks", two(`"cpu":1`, `"dependsOn":[{"containerName":"a","condition":"HEALTHY"}]`), "containerDefinitions[1].dependsOn[0].condition", "healthCheck"},
	{"waiting for the end of the task", two(`"dependsOn":[{"containerName":"b","condition":"SUCCESS"}]`, `"cpu":1`), "containerDefinitions[0].dependsOn[0].condition", "essential"},
	{"waiting for one another", two(`"dependsOn":[{"containerName":"b","condition":"START"}]`, after), "containerDefinitions[0].dependsOn", "cycle"},
	{"volumes of nobody", two(`"cpu":1`, `"volumesFrom":[{"sourceContainer":"x"}]`), "containerDefinitions[1].volumesFrom[0].sourceContainer", `'x'`},
	{"two things in one place", inMode(`"volumes":[{"name":"v"},{"name":"w"}]`, oneContainer(`"mountPoints":[{"sourceVolume":"v","containerPath":"/d"},{"sourceVolume":"w","containerPath":"/d/"}]`)), "containerDefinitions[0].mountPoints[1].containerPath", "/d/"},

	{"a host name that is none", oneContainer(`"hostname":"a b"`), "containerDefinitions[0].hostname", "a b"},
	{"a host without an address", oneContainer(`"extraHosts":[{"hostname":"db"}]`), "containerDefinitions[0].extraHosts[0]", `"db" and ""`},
	{"a line break in a host", oneContainer(`"extraHosts":[{"hostname":"db\n1.1.1.1 x","ipAddress":"1.1.1.1"}]`), "containerDefinitions[0].extraHosts[0]", `"db\n1.1.1.1 x" and "1.1.1.1"`},
	{"a name server by name", oneContainer(`"dnsServers":["dns.example"]`), "containerDefinitions[0].dnsServers[0]", `"dns.example"`},
	{"a search domain that is none", oneContainer(`"dnsSearchDomains":["a b"]`), "containerDefinitions[0].dnsSearchDomains[0]", `"a b"`},
	{"a parameter of the whole kernel", oneContainer(`"systemControls":[{"namespace":"vm.swappiness","value":"1"}]`), "containerDefinitions[0].systemControls[0].namespace", `"vm.swappiness"`},
	{"a parameter of the host's network", inMode(`"networkMode":"host"`, oneContainer(`"systemControls":[{"namespace":"net.core.somaxconn","value":"1"}]`)), "containerDefinitions[0].systemControls[0]", "networkMode host"},
	{"a parameter of the host's messages", inMode(`"ipcMode":"host"`, oneContainer(`"systemControls":[{"namespace":"kernel.sem","value":"1"}]`)), "containerDefinitions[0].systemControls[0]", "ipcMode host"},
	{"a parameter without a value", oneContainer(`"systemControls":[{"namespace":"net.core.somaxconn"}]`), "containerDefinitions[0].systemControls[0].value", "needs a value"},
	{"a version consistency of another name", oneContainer(`"versionConsistency":"always"`), "containerDefinitions[0].versionConsistency", "disabled"},
	{"a log of no size", oneContainer(`"logConfiguration":{"logDriver":"json-file","options":{"max-size":"big"}}`), "containerDefinitions[0].logConfiguration.options.max-size", `"big"`},
	{"a log of any size", oneContainer(`"logConfiguration":{"logDriver":"json-file","options":{"max-size":"999999999g"}}`), "containerDefinitions[0].logConfiguration.options.max-size", `at most 16g, not "999999999g"`},
	{"a log of any number of files", oneContainer(`"logConfiguration":{"logDriver":"awslogs","options":{"max-file":"999999999"}}`), "containerDefinitions[0].logConfiguration.options.max-file", `from 1 to 1000, not "999999999"`},
	{"a log that is too large in all", oneContainer(`"logConfiguration":{"logDriver":"json-file","options":{"max-size":"8g","max-file":"3"}}`), "containerDefinitions[0].logConfiguration.options", `max-size times max-file are more than 16 GiB`},
	{"a log of no files", oneContainer(`"logConfiguration":{"logDriver":"json-file","options":{"max-file":"0"}}`), "containerDefinitions[0].logConfiguration.options.max-file", `"0"`},
	{"a port with a bad name", oneContainer(`"portMappings":[{"containerPort":80,"name":"Web"}]`), "containerDefinitions[0].portMappings[0].name", `"Web"`},
	{"a range that is none", oneContainer(`"portMappings":[{"containerPortRange":"80"}]`), "containerDefinitions[0].portMappings[0].containerPortRange", `"80"`},
	{"a range beside a port", oneContainer(`"portMappings":[{"containerPortRange":"80-81","hostPort":80}]`), "containerDefinitions[0].portMappings[0].containerPortRange", "hostPort"},
	{"a range over a port", oneContainer(`"portMappings":[{"containerPort":81},{"containerPortRange":"80-82"}]`), "containerDefinitions[0].portMappings[1].containerPortRange", "another mapping"},
	{"a range over another", oneContainer(`"portMappings":[{"containerPortRange":"80-82"},{"containerPortRange":"82-90"}]`), "containerDefinitions[0].portMappings[0].containerPortRange", "another mapping"},
	{"more ports than a task may publish", oneContainer(`"portMappings":[{"containerPortRange":"1-100"},{"containerPortRange":"101-200"},{"containerPort":201}]`), "containerDefinitions[0].portMappings[2]", "200"},
	{"a range in the host's network", inMode(`"networkMode":"host"`, oneContainer(`"portMappings":[{"containerPortRange":"80-82"}]`)), "containerDefinitions[0].portMappings[0].containerPortRange", "networkMode"},
	{"a link to nobody", oneContainer(`"links":["db"]`), "containerDefinitions[0].links[0]", `"db"`},
	{"a link to itself", oneContainer(`"links":["c:me"]`), "containerDefinitions[0].links[0]", "another container"},
	{"links in the host's network", inMode(`"networkMode":"host"`, oneContainer(`"links":["db"]`)), "containerDefinitions[0].links", "networkMode bridge"},
	{"links in a circle", `{"family":"f","memory":"64","containerDefinitions":[{"name":"a","image":"i","links":["b"]},{"name":"b","image":"i","links":["a"]}]}`, "containerDefinitions[0].dependsOn", "cycle"},
	{"two ports of one name", oneContainer(`"portMappings":[{"containerPort":80,"name":"web"},{"containerPort":81,"name":"web"}]`), "containerDefinitions[0].portMappings[1].name", "twice"},
	{"a port of an unknown protocol", oneContainer(`"portMappings":[{"containerPort":80,"appProtocol":"smtp"}]`), "containerDefinitions[0].portMappings[0].appProtocol", `"smtp"`},
	{"credentials of a registry that are no secret", oneContainer(`"repositoryCredentials":{"credentialsParameter":"arn:aws:ssm:us-east-1:1:parameter/hub"}`), "containerDefinitions[0].repositoryCredentials.credentialsParameter", "parameter/hub"},
	{"credentials of a registry without a name", oneContainer(`"repositoryCredentials":{}`), "containerDefinitions[0].repositoryCredentials.credentialsParameter", "NAME"},
	{"an environment file that is in no bucket", oneContainer(`"environmentFiles":[{"type":"s3","value":"arn:aws:s3:::team/a.env"},{"type":"s3","value":"/etc/a.env"}]`), "containerDefinitions[0].environmentFiles[1].value", "/etc/a.env"},
	{"an environment file outside of its bucket", oneContainer(`"environmentFiles":[{"type":"s3","value":"arn:aws:s3:::team/../a.env"}]`), "containerDefinitions[0].environmentFiles[0].value", "team/../a.env"},
	{"an environment file of another type", oneContainer(`"environmentFiles":[{"type":"http","value":"arn:aws:s3:::team/a.env"}]`), "containerDefinitions[0].environmentFiles[0].value", "http"},
	{"too many environment files", oneContainer(`"environmentFiles":[` + strings.Repeat(`{"type":"s3","value":"arn:aws:s3:::team/a.env"},`, 10) + `{"type":"s3","value":"arn:aws:s3:::team/a.env"}]`), "containerDefinitions[0].environmentFiles", "10"},
	{"a device outside of /dev", oneContainer(`"linuxParameters":{"devices":[{"hostPath":"/dev/../etc/shadow"}]}`), "containerDefinitions[0].linuxParameters.devices[0].hostPath", "/etc/shadow"},
	{"a GPU as a device", oneContainer(`"linuxParameters":{"devices":[{"hostPath":"/dev/fuse"},{"hostPath":"/dev/nvidia0"}]}`), "containerDefinitions[0].linuxParameters.devices[1].hostPath", "resourceRequirements"},
	{"a device at a path with dots", oneContainer(`"linuxParameters":{"devices":[{"hostPath":"/dev/fuse","containerPath":"/dev/../proc/x"}]}`), "containerDefinitions[0].linuxParameters.devices[0].containerPath", "/proc/x"},
	{"two devices at one path", oneContainer(`"linuxParameters":{"devices":[{"hostPath":"/dev/a"},{"hostPath":"/dev/b","containerPath":"/dev/a"}]}`), "containerDefinitions[0].linuxParameters.devices[1]", "twice"},
	{"a permission that no device has", oneContainer(`"linuxParameters":{"devices":[{"hostPath":"/dev/a","permissions":["execute"]}]}`), "containerDefinitions[0].linuxParameters.devices[0].permissions", "execute"},
	{"a memory file system with an unknown option", oneContainer(`"linuxParameters":{"tmpfs":[{"containerPath":"/t","size":1,"mountOptions":["fast"]}]}`), "containerDefinitions[0].linuxParameters.tmpfs[0].mountOptions", "fast"},
}

func parse(t *testing.T, body string) (*spec.TaskDefinition, error) {
	t.Helper()
	in := &types.RegisterTaskDefinitionInput{}
	if err := wire.DecodeJSON([]byte(body), in, wire.Strict); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return Parse(in)
}

func TestADefinitionIsRefusedByTheMemberThatIsWrong(t *testing.T) {
	for _, c := range slices.Concat(refusals, processRefusals) {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(t, c.body)
			wrong, ok := errors.AsType[*field.Error](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if wrong.Path != c.path {
				t.Errorf("%s is wrong, want %s: %v", wrong.Path, c.path, err)
			}
			if !strings.Contains(wrong.Message, c.says) {
				t.Errorf("%q does not say %q", wrong.Message, c.says)
			}
			if strings.HasPrefix(c.path, "containerDefinitions[") && !namesContainer(wrong.Message) {
				t.Errorf("%q does not name the container", wrong.Message)
			}
		})
	}
}

// namesContainer says whether the message has the name of a container in quotes, or is about names and images themselves.
func namesContainer(message string) bool {
	for _, name := range []string{"'a'", "'b'", "'c'"} {
		if strings.Contains(message, name) {
			return true
		}
	}
	return strings.HasPrefix(message, "Container.")
}

// What a definition requires of hosts follows from its members.
func TestRequiredAttributes(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{oneContainer(`"cpu":1`), ""},
		{oneContainer(`"logConfiguration":{"logDriver":"awslogs","options":{}}`), "com.amazonaws.ecs.capability.logging-driver.awslogs"},
		{oneContainer(`"privileged":true`), "com.amazonaws.ecs.capability.privileged-container"},
		{oneContainer(`"healthCheck":{"command":["CMD","true"]}`), "ecs.capability.container-health-check"},
		{oneContainer(`"restartPolicy":{"enabled":true}`), "ecs.capability.container-restart-policy"},
		{oneContainer(`"dnsServers":["1.1.1.1"]`), "pinion.capability.container-options"},
		{two(`"cpu":1`, `"dependsOn":[{"containerName":"a","condition":"START"}]`), "ecs.capability.task-cpu-mem-limit ecs.capability.container-ordering"},
		{taskWith(`"pidMode":"host"`), "ecs.capability.pid-ipc-namespace-sharing"},
		{gpuRequirement(`"sharingStrategy":{"nvidiaMps":{"memory":1024}}`), "ecs.capability.gpu-sharing-mps"},
		{gpuRequirement(`"value":"ALL"`), ""},
	} {
		d, err := parse(t, c.body)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, a := range d.RequiredAttributes() {
			names = append(names, a.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s requires %q, want %q", c.body, got, c.want)
		}
	}
}
