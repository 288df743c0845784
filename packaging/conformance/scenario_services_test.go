package conformance

import "slices"

// scenario is what every client goes through.
var scenario = slices.Concat(taskScenario, serviceScenario, trafficScenario, taskSetScenario, daemonScenario)

// serviceOperations are the operations that tools for services use.
var serviceOperations = []string{
	"CreateService", "UpdateService", "DeleteService", "DescribeServices", "ListServices",
	"ListServiceDeployments", "DescribeServiceDeployments", "DescribeServiceRevisions", "StopServiceDeployment", "ContinueServiceDeployment",
	"GetTaskProtection", "UpdateTaskProtection",
}

const (
	serviceNotFound = "ServiceNotFoundException"
	noImage         = `{"name":"main","image":"127.0.0.1:1/nothing","memory":32}`
)

// serviceScenario is the life of a service: it runs a task, is protected, is updated to what cannot start, is rolled back, and ends.
var serviceScenario = []step{
	{operation: "RegisterTaskDefinition", body: `{"family":"$me-web","networkMode":"none","containerDefinitions":[` + container + `]}`, saves: "web=taskDefinition.taskDefinitionArn"},
	{operation: "RegisterTaskDefinition", body: `{"family":"$me-web","networkMode":"none","containerDefinitions":[` + noImage + `]}`, saves: "broken=taskDefinition.taskDefinitionArn"},
	{operation: "CreateService", body: `{"serviceName":"$me","taskDefinition":"$web","desiredCount":1,"clientToken":"$me","propagateTags":"SERVICE","enableECSManagedTags":true,
		"deploymentConfiguration":{"minimumHealthyPercent":50,"deploymentCircuitBreaker":{"enable":true,"rollback":false}},"healthCheckGracePeriodSeconds":5,
		"placementStrategy":[{"type":"spread","field":"instanceId"}],"tags":[{"key":"pinion.healthy-after","value":"1s"}]}`, saves: "service=service.serviceArn"},
	{operation: "CreateService", body: `{"serviceName":"$me","taskDefinition":"nothing","desiredCount":1}`, wantError: clientException},
	{operation: "CreateService", body: `{"serviceName":"$me","taskDefinition":"$web","desiredCount":2}`, wantError: invalidParameter},
	{operation: "DescribeServices", body: `{"services":["$me","nothing"],"include":["TAGS"]}`, until: "services.0.deployments.0.rolloutState=COMPLETED"},
	{operation: "DescribeServices", body: `{"cluster":"nowhere","services":["$me"]}`, wantError: clusterNotFound},
	{operation: "ListServices", body: `{"launchType":"EC2","schedulingStrategy":"REPLICA"}`},
	{operation: "ListServices", body: manyResults, wantError: invalidParameter},
	{operation: "ListServiceDeployments", body: `{"service":"$service"}`, until: "serviceDeployments.0.status=SUCCESSFUL", saves: "revision=serviceDeployments.0.targetServiceRevisionArn"},
	{operation: "ListServiceDeployments", body: `{"service":"nothing"}`, wantError: serviceNotFound},
	{operation: "DescribeServiceRevisions", body: `{"serviceRevisionArns":["$revision"]}`, until: "serviceRevisions.0.taskDefinition=$web"},
	{operation: "DescribeServiceRevisions", body: `{"serviceRevisionArns":[]}`, wantError: invalidParameter},

	{operation: "ListTasks", body: `{"serviceName":"$me"}`, saves: "replica=taskArns.0"},
	{operation: "ListTasks", body: `{"serviceName":"nothing"}`, wantError: serviceNotFound},
	{operation: "DescribeTasks", body: `{"tasks":["$replica"],"include":["TAGS"]}`, until: "tasks.0.group=service:$me"},
	{operation: "UpdateTaskProtection", body: `{"cluster":"default","tasks":["$replica"],"protectionEnabled":true,"expiresInMinutes":5}`, until: "protectedTasks.0.taskArn=$replica"},
	{operation: "GetTaskProtection", body: `{"cluster":"default","tasks":["$replica"]}`, until: "protectedTasks.0.taskArn=$replica"},
	{operation: "UpdateTaskProtection", body: `{"cluster":"default","tasks":["$replica"],"protectionEnabled":false}`},
	{operation: "UpdateTaskProtection", body: `{"cluster":"nowhere","tasks":["$replica"],"protectionEnabled":false}`, wantError: clusterNotFound},
	{operation: "GetTaskProtection", body: `{"cluster":"nowhere","tasks":["$replica"]}`, wantError: clusterNotFound},

	// Without a circuit breaker the rollout goes on until it is stopped, however slow the client is.
	{operation: "UpdateService", body: `{"service":"$me","taskDefinition":"$broken","deploymentConfiguration":{"deploymentCircuitBreaker":{"enable":false,"rollback":false}}}`, until: "service.deployments.0.rolloutState=IN_PROGRESS"},
	{operation: "UpdateService", body: `{"service":"nothing","desiredCount":0}`, wantError: serviceNotFound},
	{operation: "ListServiceDeployments", body: `{"service":"$me","status":["IN_PROGRESS"]}`, saves: "rollout=serviceDeployments.0.serviceDeploymentArn"},
	{operation: "DescribeServiceDeployments", body: `{"serviceDeploymentArns":["$rollout"]}`, until: "serviceDeployments.0.status=IN_PROGRESS"},
	{operation: "DescribeServiceDeployments", body: `{"serviceDeploymentArns":[]}`, wantError: invalidParameter},
	{operation: "StopServiceDeployment", body: `{"serviceDeploymentArn":"$rollout","stopType":"ROLLBACK"}`},
	{operation: "StopServiceDeployment", body: `{"serviceDeploymentArn":"$rollout-not"}`, wantError: "ServiceDeploymentNotFoundException"},
	{operation: "UpdateService", body: `{"service":"$me","taskDefinition":"$web"}`}, // which it has again, but for a client that cannot roll back
	{operation: "DescribeServices", body: `{"services":["$me"]}`, until: "services.0.taskDefinition=$web"},
	{operation: "DescribeServices", body: `{"services":["$me"]}`, until: "services.0.deployments.0.rolloutState=COMPLETED"},

	{operation: "TagResource", body: `{"resourceArn":"$service","tags":[{"key":"floor","value":"2"}]}`},
	{operation: "ListTagsForResource", body: `{"resourceArn":"$service"}`, until: "tags.1.value=2"},
	{operation: "UpdateService", body: `{"service":"$me","forceNewDeployment":true,"deploymentConfiguration":{"maximumPercent":150}}`},
	{operation: "DeleteService", body: `{"service":"$me"}`, wantError: invalidParameter},
	{operation: "DeleteService", body: `{"service":"$me","force":true}`},
	{operation: "DescribeServices", body: `{"services":["$me"]}`, until: "services.0.status=INACTIVE"},
	{operation: "DeregisterTaskDefinition", body: `{"taskDefinition":"$web"}`},
	{operation: "DeregisterTaskDefinition", body: `{"taskDefinition":"$broken"}`},
}
