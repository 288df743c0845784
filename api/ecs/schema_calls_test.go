package ecs

import (
	"slices"
	"strings"
	"testing"

	"pinion/api/ecs/internal/model"
	"pinion/raftfsm/spec"
)

// calledFixture has what validInput names: a service web that waits at a hook, a service blue with a task set, a daemon, a provider, a task that
// runs. Its replacer puts their ARNs for $task, $deployment and the like.
func calledFixture(t *testing.T) (*fixture, *strings.Replacer) {
	t.Helper()
	f, rollout := pausedWeb(t, oneGPU)
	f.must(t, "RegisterTaskDefinition", `{"family":"served","containerDefinitions":[{"name":"main","image":"web","memory":64,"portMappings":[{"containerPort":80,"name":"http","appProtocol":"http"}]}]}`)
	f.must(t, "CreateService", `{"serviceName":"blue","deploymentController":{"type":"EXTERNAL"}}`)
	set := f.set(t, "CreateTaskSet", `{"cluster":"default","service":"blue","taskDefinition":"tensorflow-1-gpu"}`).TaskSetARN
	f.must(t, "RegisterDaemonTaskDefinition", agents)
	f.must(t, "CreateDaemon", `{"daemonName":"agent",`+running+`}`)
	f.must(t, "CreateCluster", `{"clusterName":"empty"}`)
	f.must(t, "CreateCapacityProvider", `{"name":"night","autoScalingGroupProvider":{"autoScalingGroupArn":"pinion"}}`)
	f.must(t, "PutAttributes", `{"attributes":[{"name":"rack","value":"1","targetId":"`+hostID+`"}]}`)
	f.run(t, `{"taskDefinition":"tensorflow-1-gpu:1","enableExecuteCommand":true}`)
	task := f.state.View().Tasks(spec.DefaultCluster)[0].ID
	f.reportRunning(t, task)
	f.must(t, "RegisterTaskDefinition", strings.Replace(oneGPU, "tensorflow-1-gpu", "old", 1))
	f.must(t, "DeregisterTaskDefinition", `{"taskDefinition":"old:1"}`)
	agent := f.daemon(t).Daemon
	revision := arnPrefix + "service-revision/default/web/" + f.state.View().Service(spec.DefaultCluster, "web").Primary().ID
	return f, strings.NewReplacer("$task", task, "$host", hostID, "$deployment", rollout, "$revision", revision, "$set", set, "$daemonDeployment", agent.DeploymentARN,
		"$daemonRevision", agent.CurrentRevisions[0].ARN, "$arn:", arnPrefix)
}

// connected has a lifecycle hook and a name with test traffic.
const connected = `"deploymentConfiguration":{"lifecycleHooks":[{"targetType":"PAUSE","lifecycleStages":["PRE_SCALE_UP"]}]},"serviceConnectConfiguration":{"enabled":true,"services":[{"portName":"http",` +
	`"clientAliases":[{"port":80,"testTrafficRules":{"header":{"name":"x-test","value":{"exact":"1"}}}}]}]}`

// validInputs have an input of each of Amazon's operations that is carried out.
var validInputs = map[string]string{
	"CreateCluster":                 `{"clusterName":"new"}`,
	"DescribeClusters":              `{}`,
	"ListClusters":                  `{}`,
	"UpdateCluster":                 `{"cluster":"default"}`,
	"UpdateClusterSettings":         `{"cluster":"default","settings":[{"name":"containerInsights","value":"disabled"}]}`,
	"DeleteCluster":                 `{"cluster":"empty"}`,
	"RegisterTaskDefinition":        oneGPU,
	"DeregisterTaskDefinition":      `{"taskDefinition":"tensorflow-1-gpu:1"}`,
	"DeleteTaskDefinitions":         `{"taskDefinitions":["old:1"]}`,
	"DescribeTaskDefinition":        `{"taskDefinition":"tensorflow-1-gpu"}`,
	"ListTaskDefinitions":           `{}`,
	"ListTaskDefinitionFamilies":    `{}`,
	"RunTask":                       `{"taskDefinition":"tensorflow-1-gpu"}`,
	"StartTask":                     `{"taskDefinition":"tensorflow-1-gpu","containerInstances":["$host"]}`,
	"StopTask":                      `{"task":"$task"}`,
	"DescribeTasks":                 `{"tasks":["$task"]}`,
	"ListTasks":                     `{}`,
	"DescribeContainerInstances":    `{"containerInstances":["$host"]}`,
	"ListContainerInstances":        `{}`,
	"UpdateContainerInstancesState": `{"containerInstances":["$host"],"status":"ACTIVE"}`,
	"DeregisterContainerInstance":   `{"containerInstance":"$host","force":true}`,
	"PutAttributes":                 `{"attributes":[{"name":"rack","value":"2","targetId":"$host"}]}`,
	"DeleteAttributes":              `{"attributes":[{"name":"rack","targetId":"$host"}]}`,
	"ListAttributes":                `{"targetType":"container-instance"}`,
	"CreateCapacityProvider":        `{"name":"day","autoScalingGroupProvider":{"autoScalingGroupArn":"pinion"}}`,
	"UpdateCapacityProvider":        `{"name":"night","autoScalingGroupProvider":{}}`,
	"DeleteCapacityProvider":        `{"capacityProvider":"night"}`,
	"DescribeCapacityProviders":     `{}`,
	"PutClusterCapacityProviders":   `{"cluster":"default","capacityProviders":["PINION"],"defaultCapacityProviderStrategy":[{"capacityProvider":"PINION"}]}`,
	"TagResource":                   `{"resourceArn":"$arn:cluster/default","tags":[{"key":"a","value":"b"}]}`,
	"UntagResource":                 `{"resourceArn":"$arn:cluster/default","tagKeys":["a"]}`,
	"ListTagsForResource":           `{"resourceArn":"$arn:cluster/default"}`,
	"PutAccountSetting":             `{"name":"containerInsights","value":"enabled"}`,
	"PutAccountSettingDefault":      `{"name":"containerInsights","value":"enabled"}`,
	"DeleteAccountSetting":          `{"name":"containerInsights"}`,
	"ListAccountSettings":           `{}`,
	"CreateService":                 `{"serviceName":"api","taskDefinition":"served","desiredCount":1,` + connected + `}`,
	"UpdateService":                 `{"service":"web","taskDefinition":"served",` + connected + `}`,
	"DeleteService":                 `{"service":"web","force":true}`,
	"ListServices":                  `{}`,
	"ListServicesByNamespace":       `{"namespace":"default"}`,
	"DescribeServices":              `{"services":["web"]}`,
	"ListServiceDeployments":        `{"service":"web"}`,
	"DescribeServiceDeployments":    `{"serviceDeploymentArns":["$deployment"]}`,
	"DescribeServiceRevisions":      `{"serviceRevisionArns":["$revision"]}`,
	"StopServiceDeployment":         `{"serviceDeploymentArn":"$deployment"}`,
	"ContinueServiceDeployment":     `{"serviceDeploymentArn":"$deployment","hookId":"ecs-pause-h"}`,
	"CreateTaskSet":                 `{"cluster":"default","service":"blue","taskDefinition":"tensorflow-1-gpu"}`,
	"UpdateTaskSet":                 `{"cluster":"default","service":"blue","taskSet":"$set","scale":{"value":50,"unit":"PERCENT"}}`,
	"DeleteTaskSet":                 `{"cluster":"default","service":"blue","taskSet":"$set","force":true}`,
	"DescribeTaskSets":              `{"cluster":"default","service":"blue"}`,
	"UpdateServicePrimaryTaskSet":   `{"cluster":"default","service":"blue","primaryTaskSet":"$set"}`,
	"RegisterDaemonTaskDefinition":  agents,
	"DeleteDaemonTaskDefinition":    `{"daemonTaskDefinition":"agents:1"}`,
	"DescribeDaemonTaskDefinition":  `{"daemonTaskDefinition":"agents"}`,
	"ListDaemonTaskDefinitions":     `{}`,
	"CreateDaemon":                  `{"daemonName":"other",` + running + `}`,
	"UpdateDaemon":                  `{"daemonArn":"` + daemonARN + `",` + running + `}`,
	"DeleteDaemon":                  theDaemon,
	"DescribeDaemon":                theDaemon,
	"ListDaemons":                   `{}`,
	"ListDaemonDeployments":         theDaemon,
	"DescribeDaemonDeployments":     `{"daemonDeploymentArns":["$daemonDeployment"]}`,
	"DescribeDaemonRevisions":       `{"daemonRevisionArns":["$daemonRevision"]}`,
	"GetTaskProtection":             `{"cluster":"default","tasks":["$task"]}`,
	"UpdateTaskProtection":          `{"cluster":"default","tasks":["$task"],"protectionEnabled":false}`,
}

// neverCarriedOut are the operations that are refused whatever their input is, and the one that needs a host.
var neverCarriedOut = map[string]bool{"RegisterContainerInstance": true, "UpdateContainerAgent": true, "ExecuteCommand": true}

func TestValidInputsAreCarriedOut(t *testing.T) {
	for name, operation := range Operations {
		input, there := validInputs[name]
		if there == (operation.Own || neverCarriedOut[name]) {
			t.Errorf("%s has a valid input %t", name, there)
			continue
		}
		if f, names := calledFixture(t); there {
			if got := f.call(name, names.Replace(input)); got.err != nil {
				t.Errorf("%s: %v", name, got.err)
			}
		}
	}
}

// optionalHere are members that the model requires and Pinion does not, and why.
var optionalHere = map[string]string{
	"cluster":                                   "without one it is the cluster default, in all operations",
	"serviceConnectDefaults.namespace":          "an empty one stands for the cluster's own name",
	"deploymentConfiguration.alarms.alarmNames": "alarms are refused unless they are off",
}

// A valid input without one member that the model requires is refused, and the refusal names what is missing. A boolean that is absent is false:
// Amazon's clients always send those that are required.
func TestEachRequiredMemberIsMissed(t *testing.T) {
	members, optional := 0, map[string]bool{}
	amazonsMembers(t, func(operation string, m inputMember) {
		if !m.required || m.kind == model.Boolean || neverCarriedOut[operation] {
			return
		}
		members++
		if optionalHere[m.String()] != "" {
			optional[m.String()] = true
			return
		}
		f, names := calledFixture(t)
		input := encoded(t, withoutMember(decoded(t, names.Replace(validInputs[operation])), m.path))
		if got := f.call(operation, input); got.err == nil {
			t.Errorf("%s: %s is missing in %s, and it is carried out", operation, m, input)
		} else if !m.namedIn(got.err) {
			t.Errorf("%s: the refusal does not name %s: %v", operation, m, got.err)
		}
	})
	if members < 80 || len(optional) != len(optionalHere) {
		t.Errorf("%d members are required, and of the optional ones %v", members, optional)
	}
}

// A valid input with a word that an enum does not have is refused, and the refusal names the member.
func TestEachEnumIsChecked(t *testing.T) {
	enums := 0
	amazonsMembers(t, func(operation string, m inputMember) {
		if m.values == nil || neverCarriedOut[operation] {
			return
		}
		enums++
		f, names := calledFixture(t)
		input := encoded(t, withMember(decoded(t, names.Replace(validInputs[operation])), m.path, "NOPE"))
		if got := f.call(operation, input); got.err == nil {
			t.Errorf("%s: %s may be NOPE: %s", operation, m, input)
		} else if !m.innermost().namedIn(got.err) && !strings.Contains(got.err.Error(), "NOPE") {
			t.Errorf("%s: the refusal does not name %s: %v", operation, m, got.err)
		}
	})
	if enums < 80 {
		t.Errorf("only %d enums", enums)
	}
}

// Each value of an enum is taken, or the refusal names the member, or another one of the object that it is in, which lacks what it requires beside it.
func TestEachValueOfAnEnumIsTakenOrRefusedByName(t *testing.T) {
	taken, refused := 0, 0
	amazonsMembers(t, func(operation string, m inputMember) {
		for _, value := range m.values {
			if neverCarriedOut[operation] {
				continue
			}
			f, names := calledFixture(t)
			input := encoded(t, withMember(decoded(t, names.Replace(validInputs[operation])), m.path, value))
			switch got := f.call(operation, input); {
			case got.err == nil:
				taken++
			case !m.namedIn(got.err) && !strings.Contains(got.err.Error(), value):
				t.Errorf("%s: the refusal of %s does not name %s: %v", operation, value, m, got.err)
			default:
				refused++
			}
		}
	})
	if taken < 200 || refused > taken {
		t.Errorf("%d values are taken, %d refused", taken, refused)
	}
}

// sentences are ECS's own, which name a member by another word.
var sentences = map[string]string{"containerDefinitions": "Container list cannot be empty.", "deploymentController": "TaskDefinition must be blank", "primaryTaskSet": "TaskSet not found."}

// innermost is the member without those that it is part of; but one that is deep in an object which the valid input lacks stays as it is, as the
// refusal may be about what the object requires beside it.
func (m inputMember) innermost() inputMember {
	if len(m.path) > 2 {
		return m
	}
	at := slices.IndexFunc(m.path, func(name string) bool { return name != "[]" })
	if last := len(m.path) - 1; m.path[last] != "[]" {
		at = last
	}
	m.path = m.path[at : at+1]
	return m
}

// namedIn reports whether a refusal names the member, or one that it is part of: as one word or as people write it.
func (m inputMember) namedIn(err error) bool {
	text := strings.ToLower(strings.ReplaceAll(err.Error(), " ", ""))
	for _, name := range m.path {
		word := strings.ToLower(name)
		for _, ending := range []string{"s", "arn", "id"} {
			if len(word) > len(ending)+2 {
				word = strings.TrimSuffix(word, ending)
			}
		}
		if name != "[]" && strings.Contains(text, word) || sentences[name] != "" && strings.Contains(err.Error(), sentences[name]) {
			return true
		}
	}
	return false
}
