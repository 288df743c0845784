package conformance

// daemonOperations are the operations of daemons and of what they run.
var daemonOperations = []string{
	"RegisterDaemonTaskDefinition", "DeleteDaemonTaskDefinition", "DescribeDaemonTaskDefinition", "ListDaemonTaskDefinitions",
	"CreateDaemon", "UpdateDaemon", "DeleteDaemon", "DescribeDaemon", "ListDaemons", "ListDaemonDeployments", "DescribeDaemonDeployments", "DescribeDaemonRevisions",
}

const (
	daemonNotFound = "DaemonNotFoundException"
	agentContainer = `{"name":"main","image":"pinion/self","memory":32,"stopTimeout":2,"command":["/pinion","pause"],"essential":true,"environment":[{"name":"A","value":"1"}]}`
	onTheHosts     = `"capacityProviderArns":["PINION"]`
)

// daemonScenario is the life of a daemon: it runs on the host, is deployed anew, and ends. It has the name of its family, which a client that is older than
// daemons does not get to know.
var daemonScenario = []step{
	{operation: "RegisterDaemonTaskDefinition", body: `{"family":"$me-agent","cpu":"32","memory":"64","volumes":[{"name":"scratch"}],"tags":[{"key":"team","value":"vision"}],"containerDefinitions":[` + agentContainer + `]}`, saves: "agent=daemonTaskDefinitionArn"},
	{operation: "RegisterDaemonTaskDefinition", body: `{"family":"$me-agent","containerDefinitions":[{"name":"main","image":"busybox"}]}`, wantError: clientException},
	{operation: "RegisterDaemonTaskDefinition", body: `{"family":"$me-agent","containerDefinitions":[` + agentContainer + `]}`, saves: "next=daemonTaskDefinitionArn"},
	{operation: "DescribeDaemonTaskDefinition", body: `{"daemonTaskDefinition":"$me-agent:1"}`, until: "daemonTaskDefinition.daemonTaskDefinitionArn=$agent", saves: "family=daemonTaskDefinition.family"},
	{operation: "DescribeDaemonTaskDefinition", body: `{"daemonTaskDefinition":"nothing"}`, wantError: clientException},
	{operation: "ListDaemonTaskDefinitions", body: `{"familyPrefix":"$me-agent","sort":"DESC","status":"ALL","revision":"LAST_REGISTERED"}`, until: "daemonTaskDefinitions.0.arn=$next"},
	{operation: "ListDaemonTaskDefinitions", body: manyResults, wantError: invalidParameter},

	{operation: "CreateDaemon", body: `{"daemonName":"$family","daemonTaskDefinitionArn":"$agent",` + onTheHosts + `,"clientToken":"$me","propagateTags":"DAEMON","enableECSManagedTags":true,
		"deploymentConfiguration":{"drainPercent":50,"bakeTimeInMinutes":0},"tags":[{"key":"pinion.healthy-after","value":"1s"}]}`, saves: "daemon=daemonArn"},
	{operation: "CreateDaemon", body: `{"daemonName":"$me-2","daemonTaskDefinitionArn":"$agent","capacityProviderArns":["nothing"]}`, wantError: invalidParameter},
	{operation: "DescribeDaemon", body: `{"daemonArn":"$daemon"}`, until: "daemon.status=ACTIVE"},
	{operation: "DescribeDaemon", body: `{"daemonArn":"$daemon-not"}`, wantError: daemonNotFound},
	{operation: "ListDaemons", body: `{"capacityProviderArns":["PINION"]}`, until: "daemonSummariesList.0.daemonArn=$daemon"},
	{operation: "ListDaemons", body: manyResults, wantError: invalidParameter},
	{operation: "ListDaemonDeployments", body: `{"daemonArn":"$daemon","status":["IN_PROGRESS","SUCCESSFUL"]}`, until: "daemonDeployments.0.status=SUCCESSFUL", saves: "deployed=daemonDeployments.0.daemonDeploymentArn"},
	{operation: "ListDaemonDeployments", body: `{"daemonArn":"nothing"}`, wantError: invalidParameter},
	{operation: "DescribeDaemonDeployments", body: `{"daemonDeploymentArns":["$deployed"]}`, until: "daemonDeployments.0.status=SUCCESSFUL", saves: "running=daemonDeployments.0.targetDaemonRevision.arn"},
	{operation: "DescribeDaemonDeployments", body: `{"daemonDeploymentArns":[]}`, wantError: invalidParameter},
	{operation: "DescribeDaemonRevisions", body: `{"daemonRevisionArns":["$running"]}`, until: "daemonRevisions.0.daemonTaskDefinitionArn=$agent"},
	{operation: "DescribeDaemonRevisions", body: `{"daemonRevisionArns":[]}`, wantError: invalidParameter},

	{operation: "ListTasks", body: `{"daemonName":"$family"}`, saves: "agenttask=taskArns.0"},
	{operation: "DescribeTasks", body: `{"tasks":["$agenttask"],"include":["TAGS"]}`, until: "tasks.0.group=daemon:$family"},
	{operation: "DescribeTasks", body: `{"tasks":["$agenttask"]}`, until: "tasks.0.lastStatus=RUNNING"},
	{operation: "TagResource", body: `{"resourceArn":"$daemon","tags":[{"key":"floor","value":"2"}]}`},
	{operation: "ListTagsForResource", body: `{"resourceArn":"$daemon"}`, until: "tags.1.value=2"},
	{operation: "ListTagsForResource", body: `{"resourceArn":"$agent"}`, until: "tags.0.value=vision"},

	{operation: "UpdateDaemon", body: `{"daemonArn":"$daemon","daemonTaskDefinitionArn":"$next",` + onTheHosts + `}`, until: "status=ACTIVE"},
	{operation: "UpdateDaemon", body: `{"daemonArn":"$daemon-not","daemonTaskDefinitionArn":"$next",` + onTheHosts + `}`, wantError: daemonNotFound},
	{operation: "ListDaemonDeployments", body: `{"daemonArn":"$daemon","maxResults":1}`, until: "daemonDeployments.0.status=SUCCESSFUL"},
	{operation: "ListTasks", body: `{"daemonName":"$family"}`, saves: "nexttask=taskArns.0"},
	{operation: "DescribeTasks", body: `{"tasks":["$nexttask"]}`, until: "tasks.0.taskDefinitionArn=$next"},
	{operation: "DeleteDaemonTaskDefinition", body: `{"daemonTaskDefinition":"$agent"}`, until: "daemonTaskDefinitionArn=$agent"},
	{operation: "DeleteDaemonTaskDefinition", body: `{"daemonTaskDefinition":"nothing:1"}`, wantError: clientException},
	{operation: "DeleteDaemon", body: `{"daemonArn":"$daemon"}`, until: "status=DELETE_IN_PROGRESS"},
	{operation: "DeleteDaemon", body: `{"daemonArn":"$daemon-not"}`, wantError: daemonNotFound},
	{operation: "ListTasks", body: `{"daemonName":"$family"}`, until: "taskArns.0="},
	{operation: "ListDaemons", body: `{}`, until: "daemonSummariesList.0.daemonArn="},
	{operation: "DeleteDaemonTaskDefinition", body: `{"daemonTaskDefinition":"$next"}`},
}
