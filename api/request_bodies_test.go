package api

import (
	"strings"
)

// bodies are a request to each operation with all the fields that it reads, about what a furnished bench has: what a fuzzer
// begins with.
var bodies = map[string]string{
	"CreateCluster":         `{"clusterName":"new","tags":[{"key":"k","value":"v"}],` + clusterFields + `}`,
	"DescribeClusters":      `{"clusters":["default","` + resourceARN("cluster/lab") + `","nope"],"include":["ATTACHMENTS","CONFIGURATIONS","SETTINGS","STATISTICS","TAGS"]}`,
	"ListClusters":          `{"maxResults":1,"nextToken":"cGluaW9uMTpk"}`,
	"UpdateCluster":         `{"cluster":"lab",` + clusterFields + `}`,
	"UpdateClusterSettings": `{"cluster":"lab","settings":[{"name":"containerInsights","value":"disabled"}]}`,
	"DeleteCluster":         `{"cluster":"lab"}`,

	"RegisterTaskDefinition":     everything,
	"DeregisterTaskDefinition":   `{"taskDefinition":"f:3"}`,
	"DeleteTaskDefinitions":      `{"taskDefinitions":["f:2","f:9","` + resourceARN("task-definition/f:1") + `"]}`,
	"DescribeTaskDefinition":     `{"taskDefinition":"` + resourceARN("task-definition/everything:1") + `","include":["TAGS"]}`,
	"ListTaskDefinitions":        `{"familyPrefix":"f","status":"INACTIVE","sort":"DESC","maxResults":1,"nextToken":"cGluaW9uMTpmOjE"}`,
	"ListTaskDefinitionFamilies": `{"familyPrefix":"f","status":"ALL","maxResults":1,"nextToken":"cGluaW9uMTpmOjE"}`,

	"RunTask": `{"cluster":"default","taskDefinition":"f","count":2,"launchType":"EC2","group":"g","startedBy":"me","clientToken":"U","referenceId":"r","platformVersion":"LATEST",
		"propagateTags":"TASK_DEFINITION","enableECSManagedTags":true,"tags":[{"key":"pinion.lost-after","value":"1h"}],"placementConstraints":[{"type":"memberOf","expression":"attribute:rack == 7"}],
		"placementStrategy":[{"type":"spread","field":"attribute:rack"},{"type":"binpack","field":"memory"}],"overrides":` + overrides + `}`,
	"StartTask":     `{"taskDefinition":"tensorflow-1-gpu:1","containerInstances":["` + hostID + `","cccc"],"group":"g","overrides":` + strings.ReplaceAll(overrides, `"c"`, `"tensorflow-gpu"`) + `}`,
	"StopTask":      `{"cluster":"default","task":"00000000000000000000000000000002","reason":"enough"}`,
	"DescribeTasks": `{"tasks":["` + firstTask + `","` + resourceARN("task/default/00000000000000000000000000000002") + `","x"],"include":["TAGS"]}`,
	"ListTasks":     `{"cluster":"default","containerInstance":"` + hostID + `","family":"f","desiredStatus":"STOPPED","launchType":"EC2","maxResults":1,"nextToken":"cGluaW9uMTow"}`,

	"DescribeContainerInstances":    `{"containerInstances":["` + resourceARN("container-instance/default/"+hostID) + `","cccc"],"include":["TAGS","CONTAINER_INSTANCE_HEALTH"]}`,
	"ListContainerInstances":        `{"cluster":"default","filter":"attribute:rack == 7 and runningTasksCount > 0","status":"ACTIVE","maxResults":1,"nextToken":"cGluaW9uMTow"}`,
	"UpdateContainerInstancesState": `{"containerInstances":["` + hostID + `","cccc"],"status":"DRAINING"}`,
	"RegisterContainerInstance":     `{"cluster":"default","totalResources":[],"attributes":[]}`,
	"DeregisterContainerInstance":   `{"cluster":"lab","containerInstance":"` + otherHost + `","force":true}`,
	"UpdateContainerAgent":          `{"containerInstance":"` + hostID + `"}`,

	"PutAttributes":    `{"attributes":[{"name":"rack","value":"8","targetType":"container-instance","targetId":"` + hostID + `"}]}`,
	"DeleteAttributes": `{"attributes":[{"name":"rack","targetId":"` + resourceARN("container-instance/default/"+hostID) + `"}]}`,
	"ListAttributes":   `{"targetType":"container-instance","attributeName":"rack","attributeValue":"7","maxResults":1}`,

	"TagResource":         `{"resourceArn":"` + resourceARN("task/default/00000000000000000000000000000002") + `","tags":[{"key":"k","value":"v"}]}`,
	"UntagResource":       `{"resourceArn":"` + resourceARN("cluster/lab") + `","tagKeys":["k"]}`,
	"ListTagsForResource": `{"resourceArn":"` + resourceARN("task-definition/everything:1") + `"}`,

	"PutAccountSetting":        `{"name":"containerInsights","value":"enhanced","principalArn":"arn:aws:iam::123456789012:root"}`,
	"PutAccountSettingDefault": `{"name":"taskLongArnFormat","value":"enabled"}`,
	"DeleteAccountSetting":     `{"name":"containerInsights","principalArn":"arn:aws:iam::123456789012:root"}`,
	"ListAccountSettings":      `{"name":"containerInsights","value":"enabled","effectiveSettings":true,"maxResults":1}`,

	"ListServices":               `{"cluster":"lab","launchType":"EC2","schedulingStrategy":"REPLICA","maxResults":1}`,
	"ListServicesByNamespace":    `{"namespace":"n"}`,
	"DescribeServices":           `{"services":["s"],"include":["TAGS"]}`,
	"ListServiceDeployments":     `{"service":"s","status":["PENDING"],"createdAt":{"after":1}}`,
	"DescribeServiceDeployments": `{"serviceDeploymentArns":["a"]}`,

	"CreateCapacityProvider":      `{"name":"night","autoScalingGroupProvider":` + autoScaling + `,"tags":[{"key":"k","value":"v"}]}`,
	"UpdateCapacityProvider":      `{"name":"night","autoScalingGroupProvider":{"managedScaling":{"targetCapacity":90},"managedDraining":"DISABLED"}}`,
	"DeleteCapacityProvider":      `{"capacityProvider":"night"}`,
	"DescribeCapacityProviders":   `{"capacityProviders":["PINION"],"cluster":"lab","include":["TAGS"]}`,
	"PutClusterCapacityProviders": `{"cluster":"lab","capacityProviders":["PINION"],"defaultCapacityProviderStrategy":[{"capacityProvider":"PINION","weight":1,"base":1}]}`,
}

const autoScaling = `{"autoScalingGroupArn":"asg","managedScaling":{"status":"ENABLED","targetCapacity":80,"minimumScalingStepSize":1,
	"maximumScalingStepSize":2,"instanceWarmupPeriod":0},"managedTerminationProtection":"ENABLED","managedDraining":"ENABLED"}`

const clusterFields = `"settings":[{"name":"containerInsights","value":"enabled"}],"serviceConnectDefaults":{"namespace":"n"},
	"configuration":{"executeCommandConfiguration":{"logging":"OVERRIDE","logConfiguration":{"cloudWatchLogGroupName":"g","s3EncryptionEnabled":true}}}`

const overrides = `{"cpu":"256","memory":"1 GB","taskRoleArn":"r","executionRoleArn":"e","containerOverrides":[{"name":"c","command":["x"],"cpu":1,"memory":64,
	"memoryReservation":32,"environment":[{"name":"A","value":"b"}],"resourceRequirements":[{"type":"GPU","value":"1"}]}]}`

func resourceARN(name string) string { return "arn:aws:ecs:us-east-1:123456789012:" + name }
