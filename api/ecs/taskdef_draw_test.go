package ecs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// values draws a value of a field, as JSON.
type values = *rapid.Generator[string]

// member is one of a task definition or of a container, with values that are taken, unless another field is against them,
// and values that never are.
type member struct {
	name      string
	good, bad values
	says      string // what the refusal of a bad value has in it; the name when empty
}

var taskFields = []member{
	{name: "taskRoleArn", good: texts(`[a-z:/]{0,20}`)},
	{name: "networkMode", good: oneText("", "bridge", "host"), bad: oneText("vpc", "Bridge", "nat")},
	{name: "volumes", good: just(`[{"name":"data","host":{"sourcePath":"/data"}},{"name":"scratch","host":{}}]`, `[{"name":"scratch"},{"name":"data","dockerVolumeConfiguration":{"scope":"shared","autoprovision":true,"driver":"local","labels":{"a":"b"}}},{"name":"more","dockerVolumeConfiguration":{}}]`, `[{"name":"data","efsVolumeConfiguration":{"fileSystemId":"fs-0a1b2c3d","rootDirectory":"/a/b","transitEncryption":"ENABLED","transitEncryptionPort":2049,"authorizationConfig":{"iam":"DISABLED"}}},{"name":"scratch"},{"name":"more","efsVolumeConfiguration":{"fileSystemId":"models"}}]`),
		bad: just(`[{"name":""}]`, `[{"name":"data"},{"name":"data"}]`, `[{"name":"data","host":{"sourcePath":"../x"}}]`, `[{"name":"d","dockerVolumeConfiguration":{"driver":"rexray/ebs"}}]`, `[{"name":"e","efsVolumeConfiguration":{"fileSystemId":"f","authorizationConfig":{"accessPointId":"fsap-1"}}}]`), says: "volume"},
	{name: "placementConstraints", good: just(`[]`, `[{"type":"memberOf","expression":"attribute:rack == 7"}]`), bad: just(`[{"type":"distinctInstance"}]`, `[{"type":"memberOf","expression":"rack 7"}]`), says: "constraint"},
	{name: "requiresCompatibilities", good: just(`[]`, `["EC2"]`, `["EXTERNAL","EC2"]`), bad: just(`["FARGATE"]`, `["ec2"]`)},
	{name: "cpu", good: texts(`[4-9][0-9]{3}|[4-9] ?vCPU`), bad: oneText("0", "-1", "much", "1 GB", "1.5", "99999999999")},
	{name: "memory", good: texts(`[4-9][0-9]{3}|[4-9] ?GB`), bad: oneText("0", "-1", "2 TB", "0.0001GB")},
	{name: "pidMode", good: oneText("", "host", "task"), bad: oneText("none", "x")},
	{name: "ipcMode", good: oneText("", "none", "task"), bad: oneText("shared", "x")},
	{name: "runtimePlatform", good: just(`{}`, `{"cpuArchitecture":"ARM64","operatingSystemFamily":"LINUX"}`), bad: just(`{"cpuArchitecture":"MIPS"}`, `{"operatingSystemFamily":"WINDOWS_SERVER_2022_CORE"}`)},
	{name: "tags", good: framed(`[{"key":%s,"value":"v w"}]`, texts(`[b-z]{1,9}`)), bad: just(`[]`, `[{"key":"aws:x","value":"y"}]`, `[{"key":"a"},{"key":"a"}]`, `[{"key":"a","value":"<"}]`), says: "tag"},
	{name: "proxyConfiguration", good: just(`{}`), bad: just(`{"containerName":"c"}`)},
	{name: "ephemeralStorage", good: just(`{}`), bad: just(`{"sizeInGiB":21}`)},
}

var containerFields = []member{
	{name: "cpu", good: numbers(0, 1024), bad: just(`-1`)},
	{name: "memory", good: numbers(512, 1024), bad: just(`5`, `-1`)},
	{name: "memoryReservation", good: numbers(6, 512), bad: just(`5`, `-1`)},
	{name: "entryPoint", good: listOf(`%s`, texts(`[^\x00\n]{0,9}`), 0, 3)},
	{name: "command", good: listOf(`%s`, texts(`[^\x00\n]{0,9}`), 0, 3)},
	{name: "environment", good: listOf(`{"name":%s,"value":"x=y é"}`, texts(`[A-Z_]{1,9}`), 0, 3), bad: just(`[{"value":"x"}]`, `[{"name":"A=B"}]`, `[{"name":"A","value":"\u0000"}]`)},
	{name: "workingDirectory", good: texts(`/[a-z]{0,9}`)},
	{name: "user", good: texts(`[0-9]{1,4}(:[0-9]{1,4})?`)},
	{name: "hostname", good: texts(`[a-z][a-z0-9-]{0,9}`), bad: oneText("a b", "-", strings.Repeat("x", 65))},
	{name: "portMappings", good: listOf(`{"containerPort":%s}`, numbers(1, 65535), 0, 1), bad: just(`[{"containerPort":0}]`, `[{"containerPort":65536}]`, `[{"containerPort":1,"hostPort":-1}]`, `[{"containerPort":1,"protocol":"TCP"}]`,
		`[{"containerPort":1,"hostPort":1},{"containerPort":1,"hostPort":1}]`, `[{"containerPortRange":"2-1"}]`, `[{"containerPort":1,"name":"A"}]`, `[{"containerPort":1,"appProtocol":"ftp"}]`), says: "port"},
	{name: "mountPoints", good: just(`[]`, `[{"sourceVolume":"data","containerPath":"/data","readOnly":true},{"sourceVolume":"scratch","containerPath":"/s"}]`),
		bad: just(`[{"sourceVolume":"nope","containerPath":"/x"}]`, `[{"sourceVolume":"data","containerPath":"x"}]`, `[{"sourceVolume":"data","containerPath":"/x"},{"sourceVolume":"data","containerPath":"/x/"}]`)},
	{name: "linuxParameters", good: just(`{}`, `{"capabilities":{"add":["SYS_PTRACE"],"drop":["ALL"]},"sharedMemorySize":64,"initProcessEnabled":true,"swappiness":10,"devices":[{"hostPath":"/dev/fuse","permissions":["read"]}],"tmpfs":[{"containerPath":"/t","size":1,"mountOptions":["noexec","mode=1777"]}]}`),
		bad: just(`{"sharedMemorySize":-1}`, `{"tmpfs":[{"containerPath":"t","size":1}]}`, `{"tmpfs":[{"containerPath":"/t","size":1,"mountOptions":["x"]}]}`, `{"capabilities":{"add":["CAP_KILL"]}}`, `{"swappiness":101}`, `{"maxSwap":-1}`, `{"devices":[{"hostPath":"/dev/nvidia0"}]}`)},
	{name: "ulimits", good: listOf(`{"name":"nofile","softLimit":%s,"hardLimit":-1}`, numbers(-1, 9), 0, 1), bad: just(`[{"name":"x"}]`, `[{"name":"core","softLimit":2,"hardLimit":1}]`, `[{"name":"core","softLimit":-2}]`), says: "ulimit"},
	{name: "logConfiguration", good: just(`{"logDriver":"json-file","options":{"max-size":"10m","max-file":"3"}}`, `{"logDriver":"awslogs"}`, `{"logDriver":"syslog","options":{"syslog-address":"tcp://logs.example.com:601","tag":"{{.ID}}","labels":"team"}}`, `{"logDriver":"splunk","options":{"splunk-url":"https://splunk:8088"},"secretOptions":[{"name":"splunk-token","valueFrom":"hec"}]}`), bad: just(`{}`, `{"logDriver":"awsfirelens"}`, `{"logDriver":"awslogs","options":{"max-size":"big"}}`, `{"logDriver":"awslogs","options":{"mode":"blocking"}}`, `{"logDriver":"awslogs","options":{"awslogs-gruop":"x"}}`, `{"logDriver":"awslogs","secretOptions":[{"name":"x"}]}`, `{"logDriver":"awslogs","secretOptions":[{"name":"awslogs-group","valueFrom":"x"}]}`, `{"logDriver":"splunk","options":{"splunk-url":"https://splunk:8088"}}`, `{"logDriver":"splunk","options":{"splunk-url":"https://splunk:8088","splunk-token":"a"},"secretOptions":[{"name":"splunk-token","valueFrom":"hec"}]}`, `{"logDriver":"splunk","options":{"splunk-url":"https://splunk:8088"},"secretOptions":[{"name":"splunk-token","valueFrom":"a b"}]}`)},
	{name: "resourceRequirements", good: just(`[]`, `[{"type":"GPU","value":"2"}]`, `[{"type":"gpu","count":1,"capabilities":["compute"]}]`),
		bad: just(`[{"type":"GPU"}]`, `[{"type":"GPU","value":"0"}]`, `[{"type":"GPU","value":1}]`, `[{"type":"TPU","value":"1"}]`, `[{"type":"GPU","value":"1","count":1}]`, `[{"type":"GPU","value":"1","capabilities":["x"]}]`)},
	{name: "stopTimeout", good: numbers(0, 120), bad: just(`-1`, `86401`)},
	{name: "startTimeout", good: numbers(2, 120), bad: just(`1`)},
	{name: "privileged", good: just(`true`, `false`)},
	{name: "readonlyRootFilesystem", good: just(`true`, `false`)},
	{name: "dockerLabels", good: just(`{}`, `{"a":"b","c":""}`), bad: just(`{"":"x"}`, `{"containerd.io/gc.root":"x"}`)},
	{name: "healthCheck", good: framed(`{"command":["CMD-SHELL",%s],"interval":9}`, texts(`[a-z|]{1,9}`)), bad: just(`{}`, `{"command":["true"]}`, `{"command":["CMD"]}`, `{"command":["CMD","x"],"retries":11}`, `{"command":["CMD-SHELL","x","y"]}`)},
	{name: "restartPolicy", good: just(`{"enabled":true,"ignoredExitCodes":[0],"restartAttemptPeriod":60}`, `{"enabled":false}`), bad: just(`{}`, `{"enabled":true,"restartAttemptPeriod":59}`)},
	{name: "essential", good: just(`true`, `true`, `false`)},
	{name: "dependsOn", good: just(`[]`, `[]`, `[{"containerName":"c0","condition":"START"}]`), bad: just(`[{"containerName":"nope","condition":"START"}]`, `[{"containerName":"c0","condition":"STARTED"}]`)},
	{name: "volumesFrom", good: just(`[]`, `[]`, `[{"sourceContainer":"c0","readOnly":true}]`), bad: just(`[{"sourceContainer":"nope"}]`)},
	{name: "extraHosts", good: just(`[{"hostname":"db","ipAddress":"::1"}]`), bad: just(`[{"hostname":"db","ipAddress":"db"}]`, `[{"ipAddress":"::1"}]`)},
	{name: "dnsServers", good: just(`[]`, `["10.0.0.2"]`), bad: just(`["dns"]`)},
	{name: "dnsSearchDomains", good: just(`["lab.example"]`), bad: just(`["a b"]`)},
	{name: "systemControls", good: just(`[]`, `[{"namespace":"fs.mqueue.msg_max","value":"9"}]`), bad: just(`[{"namespace":"kernel.panic","value":"1"}]`, `[{"namespace":"fs.mqueue.msg_max"}]`)},
	{name: "versionConsistency", good: oneText("", "enabled", "disabled"), bad: oneText("Enabled", "x")},
	{name: "secrets", good: just(`[{"name":"A","valueFrom":"arn:aws:secretsmanager:us-east-1:1:secret:a:key::"}]`), bad: just(`[{"name":"S","valueFrom":"arn:aws:s3:::a"}]`)},
	{name: "links", good: just(`[]`), bad: just(`["nobody"]`, `["nobody:alias"]`, `[":"]`)},
	{name: "image", good: texts(`[a-z]{1,9}(:[a-z0-9]{1,9})?`), bad: oneText("", "a b")},
	{name: "name", good: nil, bad: oneText("", "a b", "ü")}, // which container it is depends on its place
}

func just(all ...string) values { return rapid.SampledFrom(all) }

func numbers(from, to int) values { return rapid.Map(rapid.IntRange(from, to), strconv.Itoa) }

func texts(pattern string) values { return rapid.Map(rapid.StringMatching(pattern), quoted) }

func oneText(all ...string) values { return rapid.Map(rapid.SampledFrom(all), quoted) }

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// framed draws a value and puts a frame around it.
func framed(frame string, value values) values {
	return rapid.Map(value, func(text string) string { return fmt.Sprintf(frame, text) })
}

// listOf draws a list whose items are drawn values in a frame.
func listOf(frame string, item values, least, most int) values {
	return rapid.Map(rapid.SliceOfN(framed(frame, item), least, most), func(items []string) string {
		return "[" + strings.Join(items, ",") + "]"
	})
}

// definition is a drawn task definition: the JSON of its fields by their names.
type definition struct {
	task       map[string]string
	containers []map[string]string
}

// drawDefinition draws one without a bad value.
func drawDefinition(t *rapid.T) *definition {
	d := &definition{task: drawFields(t, taskFields)}
	d.task["family"] = texts(`[a-zA-Z0-9_-]{1,20}`).Draw(t, "family")
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		c := drawFields(t, containerFields)
		c["name"] = quoted(fmt.Sprint("c", i))
		c["image"] = cmp.Or(c["image"], `"busybox"`)
		d.containers = append(d.containers, c)
	}
	return d
}

func drawFields(t *rapid.T, fields []member) map[string]string {
	drawn := map[string]string{}
	for _, f := range fields {
		if f.good != nil && rapid.Bool().Draw(t, "with "+f.name) {
			drawn[f.name] = f.good.Draw(t, f.name)
		}
	}
	return drawn
}

// corrupt gives one field a bad value, and says what the refusal must have in it.
func (d *definition) corrupt(t *rapid.T) (name string) {
	fields, into := taskFields, d.task
	if rapid.IntRange(0, 2).Draw(t, "where") > 0 {
		fields, into = containerFields, d.containers[rapid.IntRange(0, len(d.containers)-1).Draw(t, "container")]
	}
	fields = slices.DeleteFunc(slices.Clone(fields), func(f member) bool { return f.bad == nil })
	f := fields[rapid.IntRange(0, len(fields)-1).Draw(t, "spoilt")]
	into[f.name] = f.bad.Draw(t, "bad "+f.name)
	return cmp.Or(f.says, f.name)
}

func (d *definition) text() string {
	var containers []string
	for _, c := range d.containers {
		containers = append(containers, objectOf(c))
	}
	whole := maps.Clone(d.task)
	whole["containerDefinitions"] = "[" + strings.Join(containers, ",") + "]"
	return objectOf(whole)
}

func objectOf(fields map[string]string) string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		members = append(members, quoted(name)+":"+fields[name])
	}
	return "{" + strings.Join(members, ",") + "}"
}
