package conformance

// taskSetOperations are the operations of services whose deployment controller is EXTERNAL.
var taskSetOperations = []string{"CreateTaskSet", "UpdateTaskSet", "DeleteTaskSet", "DescribeTaskSets", "UpdateServicePrimaryTaskSet"}

const (
	taskSetNotFound = "TaskSetNotFoundException"
	ofSets          = `"cluster":"default","service":"$sets"`
)

// taskSetScenario is a deployment by somebody else: blue serves, green starts beside it, becomes the primary one, and blue ends. Each set has its own
// target group.
var taskSetScenario = []step{
	{operation: "RegisterTaskDefinition", body: `{"family":"$me-set","containerDefinitions":[{"name":"main","image":"pinion/self","memory":32,"stopTimeout":2,"command":["/pinion","pause"],"portMappings":[{"containerPort":80}]}]}`, saves: "member=taskDefinition.taskDefinitionArn"},
	{operation: "CreateService", body: `{"serviceName":"$me-sets","deploymentController":{"type":"EXTERNAL"},"taskDefinition":"$member","desiredCount":2}`, wantError: invalidParameter},
	{operation: "CreateService", body: `{"serviceName":"$me-sets","deploymentController":{"type":"CODE_DEPLOY"},"taskDefinition":"$member","desiredCount":2}`, wantError: invalidParameter},
	{operation: "CreateService", body: `{"serviceName":"$me-sets","deploymentController":{"type":"EXTERNAL"},"desiredCount":2}`, saves: "sets=service.serviceArn"},
	{operation: "DescribeTaskSets", body: `{` + ofSets + `}`},
	{operation: "DescribeTaskSets", body: `{"cluster":"default","service":"nothing"}`, wantError: serviceNotFound},

	{operation: "CreateTaskSet", body: `{` + ofSets + `,"taskDefinition":"$member","externalId":"first","clientToken":"$me-first","scale":{"value":100,"unit":"PERCENT"},"launchType":"EC2",
		"tags":[{"key":"colour","value":"blue"}]}`, saves: "first=taskSet.id"},
	{operation: "CreateTaskSet", body: `{` + ofSets + `,"taskDefinition":"$member","clientToken":"$me-first"}`, wantError: invalidParameter},
	{operation: "CreateTaskSet", body: `{` + ofSets + `,"taskDefinition":"$member","scale":{"value":101}}`, wantError: invalidParameter},
	{operation: "DescribeTaskSets", body: `{` + ofSets + `,"taskSets":["$first"],"include":["TAGS"]}`, until: "taskSets.0.stabilityStatus=STEADY_STATE"},
	{operation: "UpdateServicePrimaryTaskSet", body: `{` + ofSets + `,"primaryTaskSet":"$first"}`, until: "taskSet.status=PRIMARY"},
	{operation: "UpdateServicePrimaryTaskSet", body: `{` + ofSets + `,"primaryTaskSet":"ecs-svc/1"}`, wantError: taskSetNotFound},
	{operation: "DescribeServices", body: `{"services":["$sets"],"include":["TAGS"]}`, until: "services.0.taskDefinition=$member"},
	{operation: "ListTasks", body: `{"startedBy":"$first"}`, saves: "ofset=taskArns.0"},
	{operation: "DescribeTasks", body: `{"tasks":["$ofset"]}`, until: "tasks.0.group=service:$me-sets"},

	{operation: "CreateTaskSet", body: `{` + ofSets + `,"taskDefinition":"$member","loadBalancers":[{"targetGroupArn":"$green","containerName":"main","containerPort":80}]}`, saves: "second=taskSet.taskSetArn"},
	{operation: "UpdateTaskSet", body: `{` + ofSets + `,"taskSet":"$second","scale":{"value":50,"unit":"PERCENT"}}`},
	{operation: "UpdateTaskSet", body: `{` + ofSets + `,"taskSet":"ecs-svc/1","scale":{"value":50,"unit":"PERCENT"}}`, wantError: taskSetNotFound},
	{operation: "TagResource", body: `{"resourceArn":"$second","tags":[{"key":"colour","value":"green"}]}`},
	{operation: "ListTagsForResource", body: `{"resourceArn":"$second"}`, until: "tags.0.value=green"},
	{operation: "UpdateServicePrimaryTaskSet", body: `{` + ofSets + `,"primaryTaskSet":"$second"}`},
	{operation: "DescribeTaskSets", body: `{` + ofSets + `,"taskSets":["$first","$second"]}`, until: "taskSets.0.status=ACTIVE"},
	{operation: "DeleteTaskSet", body: `{` + ofSets + `,"taskSet":"$first"}`, wantError: invalidParameter},
	{operation: "UpdateTaskSet", body: `{` + ofSets + `,"taskSet":"$first","scale":{"value":0,"unit":"PERCENT"}}`},
	{operation: "DeleteTaskSet", body: `{` + ofSets + `,"taskSet":"$first"}`, until: "taskSet.status=DRAINING"},
	{operation: "DescribeTaskSets", body: `{` + ofSets + `,"taskSets":["$first"]}`, until: "failures.0.reason=MISSING"},

	{operation: "UpdateService", body: `{"service":"$sets","taskDefinition":"$member"}`, wantError: invalidParameter},
	{operation: "UpdateService", body: `{"service":"$sets","desiredCount":1,"healthCheckGracePeriodSeconds":9}`},
	{operation: "DeleteTaskSet", body: `{` + ofSets + `,"taskSet":"$second","force":true}`},
	{operation: "DescribeTaskSets", body: `{` + ofSets + `,"taskSets":["$second"]}`, until: "failures.0.reason=MISSING"},
	{operation: "DeleteService", body: `{"service":"$sets","force":true}`},
	{operation: "DescribeServices", body: `{"services":["$sets"]}`, until: "services.0.status=INACTIVE"},
	{operation: "DeregisterTaskDefinition", body: `{"taskDefinition":"$member"}`},
}
