package conformance

// coreOperations are the operations that tools for task definitions, tasks, clusters, hosts and queues use.
var coreOperations = []string{
	"CreateCluster", "DescribeClusters", "ListClusters", "DeleteCluster", "UpdateCluster", "UpdateClusterSettings",
	"RegisterTaskDefinition", "DescribeTaskDefinition", "ListTaskDefinitions", "ListTaskDefinitionFamilies", "DeregisterTaskDefinition", "DeleteTaskDefinitions",
	"RunTask", "StartTask", "StopTask", "DescribeTasks", "ListTasks",
	"RegisterContainerInstance", "DeregisterContainerInstance", "DescribeContainerInstances", "ListContainerInstances", "UpdateContainerInstancesState",
	"PutAttributes", "DeleteAttributes", "ListAttributes",
	"TagResource", "UntagResource", "ListTagsForResource",
	"ListAccountSettings", "PutAccountSetting", "PutAccountSettingDefault", "DeleteAccountSetting",
	"CreateCapacityProvider", "UpdateCapacityProvider", "DeleteCapacityProvider", "DescribeCapacityProviders", "PutClusterCapacityProviders",
}

// alwaysRefused are the operations of tierOne that always refuse, and why.
var alwaysRefused = map[string]string{"RegisterContainerInstance": "hosts register themselves"}

// step is one call and what it must come to.
type step struct {
	operation string
	body      string // JSON; $name stands for what an earlier step kept, $me for a name of the client's own
	wantError string // the type of the error that it must be refused with; empty: it must succeed
	saves     string // "name=path": what is at the path of the answer is kept under the name
	until     string // "path=text": asked again until the answer has the text there
}

const (
	container        = `{"name":"main","image":"pinion/self","memory":32,"stopTimeout":2,"command":["/pinion","pause"],"resourceRequirements":[{"type":"GPU","value":"1"}],"environment":[{"name":"A","value":"1"}]}`
	noSuchTask       = "00000000000000000000000000000000"
	invalidParameter = "InvalidParameterException"
	clientException  = "ClientException"
	clusterNotFound  = "ClusterNotFoundException"
	targetNotFound   = "TargetNotFoundException"
	resourceNotFound = "ResourceNotFoundException"
	manyResults      = `{"maxResults":1000}`
)

// taskScenario is the life of a cluster, a definition, tasks, hosts, tags and settings: each operation once or more with
// success and with an error. It leaves the host as it was; the one host of the cluster spare-$me leaves for good.
var taskScenario = []step{
	{operation: "CreateCluster", body: `{"clusterName":"$me","settings":[{"name":"containerInsights","value":"enabled"}],"tags":[{"key":"team","value":"vision"}]}`, saves: "cluster=cluster.clusterArn"},
	{operation: "CreateCluster", body: `{"clusterName":"a b"}`, wantError: invalidParameter},
	{operation: "DescribeClusters", body: `{"clusters":["$me","nowhere"],"include":["ATTACHMENTS","CONFIGURATIONS","SETTINGS","STATISTICS","TAGS"]}`, until: "failures.0.reason=MISSING"},
	{operation: "DescribeClusters", body: `{}`, until: "clusters.0.clusterName=default"},
	{operation: "DescribeClusters", body: `{"include":["NONSENSE"]}`, wantError: invalidParameter},
	{operation: "ListClusters", body: `{"maxResults":1}`, saves: "next=nextToken"},
	{operation: "ListClusters", body: `{"nextToken":"$next"}`},
	{operation: "ListClusters", body: manyResults, wantError: invalidParameter},
	{operation: "UpdateCluster", body: `{"cluster":"$me","configuration":{"executeCommandConfiguration":{"logging":"DEFAULT"}},"serviceConnectDefaults":{"namespace":"lab"}}`},
	{operation: "UpdateCluster", body: `{"cluster":"nowhere"}`, wantError: clusterNotFound},
	{operation: "UpdateClusterSettings", body: `{"cluster":"$me","settings":[{"name":"containerInsights","value":"disabled"}]}`},
	{operation: "UpdateClusterSettings", body: `{"cluster":"nowhere","settings":[{"name":"containerInsights","value":"disabled"}]}`, wantError: clusterNotFound},

	{operation: "RegisterTaskDefinition", body: `{"family":"$me","networkMode":"none","volumes":[{"name":"scratch"}],"tags":[{"key":"team","value":"vision"}],"containerDefinitions":[` + container + `]}`, saves: "definition=taskDefinition.taskDefinitionArn"},
	{operation: "RegisterTaskDefinition", body: `{"family":"$me-files","volumes":[{"name":"models","efsVolumeConfiguration":{"fileSystemId":"fs-0a1b2c3d","rootDirectory":"/llm","transitEncryption":"ENABLED","transitEncryptionPort":2999,"authorizationConfig":{"iam":"DISABLED"}}}],"containerDefinitions":[` + container + `]}`, until: "taskDefinition.volumes.0.efsVolumeConfiguration.rootDirectory=/llm"},
	{operation: "RegisterTaskDefinition", body: `{"family":"$me","containerDefinitions":[{"name":"main","image":"busybox"}]}`, wantError: clientException},
	{operation: "DescribeTaskDefinition", body: `{"taskDefinition":"$me","include":["TAGS"]}`, until: "tags.0.key=team"},
	{operation: "DescribeTaskDefinition", body: `{"taskDefinition":"nothing:1"}`, wantError: clientException},
	{operation: "ListTaskDefinitions", body: `{"familyPrefix":"$me","sort":"DESC"}`, until: "taskDefinitionArns.0=$definition"},
	{operation: "ListTaskDefinitions", body: manyResults, wantError: invalidParameter},
	{operation: "ListTaskDefinitionFamilies", body: `{"familyPrefix":"$me","status":"ACTIVE"}`},
	{operation: "ListTaskDefinitionFamilies", body: manyResults, wantError: invalidParameter},

	{operation: "ListContainerInstances", body: `{"cluster":"default","filter":"attribute:rack == r1","status":"ACTIVE"}`, saves: "instance=containerInstanceArns.0"},
	{operation: "ListContainerInstances", body: `{"filter":"attribute:"}`, wantError: invalidParameter},
	{operation: "DescribeContainerInstances", body: `{"containerInstances":["$instance","` + noSuchTask + `"],"include":["TAGS","CONTAINER_INSTANCE_HEALTH"]}`, until: "containerInstances.0.status=ACTIVE"},
	{operation: "DescribeContainerInstances", body: `{"cluster":"nowhere","containerInstances":["$instance"]}`, wantError: clusterNotFound},
	{operation: "RegisterContainerInstance", body: `{"cluster":"default"}`, wantError: clientException},
	{operation: "PutAttributes", body: `{"attributes":[{"name":"shelf","value":"7","targetId":"$instance"}]}`},
	{operation: "PutAttributes", body: `{"attributes":[{"name":"shelf","value":"7","targetType":"container-instance","targetId":"` + noSuchTask + `"}]}`, wantError: targetNotFound},
	{operation: "ListAttributes", body: `{"targetType":"container-instance","attributeName":"shelf"}`, until: "attributes.0.value=7"},
	{operation: "ListAttributes", body: `{"cluster":"nowhere","targetType":"container-instance"}`, wantError: clusterNotFound},
	{operation: "DeleteAttributes", body: `{"attributes":[{"name":"shelf","targetId":"$instance"}]}`},
	{operation: "DeleteAttributes", body: `{"attributes":[{"name":"shelf","targetId":"` + noSuchTask + `"}]}`, wantError: targetNotFound},

	{operation: "RunTask", body: `{"taskDefinition":"$me","clientToken":"$me-1","startedBy":"$me","tags":[{"key":"a","value":"b"}],"propagateTags":"TASK_DEFINITION","enableECSManagedTags":true,"overrides":{"containerOverrides":[{"name":"main","environment":[{"name":"B","value":"2"}]}]}}`, saves: "task=tasks.0.taskArn"},
	{operation: "RunTask", body: `{"taskDefinition":"$me","clientToken":"$me-1","count":2}`, wantError: "ConflictException"},
	{operation: "RunTask", body: `{"taskDefinition":"$me","overrides":{"containerOverrides":[{"name":"main","resourceRequirements":[{"type":"GPU","value":"9"}]}]}}`, until: "failures.0.reason=RESOURCE:GPU"},
	{operation: "RunTask", body: `{"taskDefinition":"nothing"}`, wantError: clientException},
	{operation: "StartTask", body: `{"taskDefinition":"$definition","containerInstances":["$instance"],"startedBy":"$me"}`, saves: "started=tasks.0.taskArn"},
	{operation: "StartTask", body: `{"cluster":"nowhere","taskDefinition":"$me","containerInstances":["$instance"]}`, wantError: clusterNotFound},
	{operation: "DescribeTasks", body: `{"tasks":["$task"],"include":["TAGS"]}`, until: "tasks.0.lastStatus=RUNNING"},
	{operation: "DescribeTasks", body: `{"tasks":["$started","` + noSuchTask + `"]}`, until: "tasks.0.lastStatus=RUNNING"},
	{operation: "DescribeTasks", body: `{"cluster":"nowhere","tasks":["$task"]}`, wantError: clusterNotFound},
	{operation: "DescribeClusters", body: `{"clusters":["default"],"include":["STATISTICS"]}`},
	{operation: "DescribeContainerInstances", body: `{"containerInstances":["$instance"]}`},
	{operation: "ListTasks", body: `{"startedBy":"$me","maxResults":1}`, saves: "next=nextToken"},
	{operation: "ListTasks", body: `{"startedBy":"$me","nextToken":"$next"}`},
	{operation: "ListTasks", body: `{"cluster":"nowhere"}`, wantError: clusterNotFound},
	{operation: "StopTask", body: `{"task":"$task","reason":"enough"}`, until: "task.desiredStatus=STOPPED"},
	{operation: "StopTask", body: `{"task":"$started"}`},
	{operation: "StopTask", body: `{"task":"` + noSuchTask + `"}`, wantError: invalidParameter},
	{operation: "DescribeTasks", body: `{"tasks":["$task"]}`, until: "tasks.0.lastStatus=STOPPED"},
	{operation: "DescribeTasks", body: `{"tasks":["$started"]}`, until: "tasks.0.lastStatus=STOPPED"},

	{operation: "CreateCapacityProvider", body: `{"name":"$me","autoScalingGroupProvider":{"autoScalingGroupArn":"$me","managedScaling":{"status":"ENABLED","targetCapacity":80}},"tags":[{"key":"team","value":"vision"}]}`, saves: "queue=capacityProvider.capacityProviderArn"},
	{operation: "CreateCapacityProvider", body: `{"name":"$me","autoScalingGroupProvider":{"autoScalingGroupArn":"$me"}}`, wantError: clientException},
	{operation: "UpdateCapacityProvider", body: `{"name":"$me","autoScalingGroupProvider":{"managedScaling":{"status":"ENABLED","targetCapacity":90}}}`, until: "capacityProvider.updateStatus=UPDATE_COMPLETE"},
	{operation: "UpdateCapacityProvider", body: `{"name":"nothing","autoScalingGroupProvider":{"managedScaling":{"status":"ENABLED"}}}`, wantError: clientException},
	{operation: "DescribeCapacityProviders", body: `{"capacityProviders":["$queue","PINION","nothing"],"include":["TAGS"]}`, until: "failures.0.reason=MISSING"},
	{operation: "DescribeCapacityProviders", body: `{"include":["NONSENSE"]}`, wantError: invalidParameter},
	{operation: "PutClusterCapacityProviders", body: `{"cluster":"$me","capacityProviders":["$me"],"defaultCapacityProviderStrategy":[{"capacityProvider":"$me","weight":1,"base":1}]}`, until: "cluster.capacityProviders.0=$me"},
	{operation: "PutClusterCapacityProviders", body: `{"cluster":"nowhere","capacityProviders":[],"defaultCapacityProviderStrategy":[]}`, wantError: clusterNotFound},
	{operation: "DescribeClusters", body: `{"clusters":["$me"],"include":["ATTACHMENTS"]}`, until: "clusters.0.attachmentsStatus=UPDATE_COMPLETE"},
	{operation: "DeleteCapacityProvider", body: `{"capacityProvider":"$queue"}`, wantError: clientException},
	{operation: "RunTask", body: `{"taskDefinition":"$me","capacityProviderStrategy":[{"capacityProvider":"PINION"}],"tags":[{"key":"pinion.priority","value":"9"}]}`, saves: "placed=tasks.0.taskArn"},
	{operation: "RunTask", body: `{"taskDefinition":"$me","launchType":"EC2","capacityProviderStrategy":[{"capacityProvider":"PINION"}]}`, wantError: invalidParameter},
	{operation: "DescribeTasks", body: `{"tasks":["$placed"]}`, until: "tasks.0.lastStatus=RUNNING"},
	{operation: "RunTask", body: `{"cluster":"$me","taskDefinition":"$me"}`, saves: "waiting=tasks.0.taskArn"},
	{operation: "DescribeTasks", body: `{"cluster":"$me","tasks":["$waiting"]}`, until: "tasks.0.capacityProviderName=$me"},
	{operation: "DescribeTasks", body: `{"cluster":"$me","tasks":["$waiting"]}`, until: "tasks.0.lastStatus=PROVISIONING"},
	{operation: "ListTasks", body: `{"cluster":"$me"}`, until: "taskArns.0=$waiting"},
	{operation: "PutClusterCapacityProviders", body: `{"cluster":"$me","capacityProviders":[],"defaultCapacityProviderStrategy":[]}`, wantError: "ResourceInUseException"},
	{operation: "StopTask", body: `{"cluster":"$me","task":"$waiting"}`, until: "task.lastStatus=STOPPED"},
	{operation: "StopTask", body: `{"task":"$placed"}`},
	{operation: "DescribeTasks", body: `{"tasks":["$placed"]}`, until: "tasks.0.lastStatus=STOPPED"},
	{operation: "ListTagsForResource", body: `{"resourceArn":"$queue"}`, until: "tags.0.value=vision"},
	{operation: "PutClusterCapacityProviders", body: `{"cluster":"$me","capacityProviders":[],"defaultCapacityProviderStrategy":[]}`},
	{operation: "DeleteCapacityProvider", body: `{"capacityProvider":"$queue"}`, until: "capacityProvider.status=INACTIVE"},

	{operation: "TagResource", body: `{"resourceArn":"$cluster","tags":[{"key":"floor","value":"2"}]}`},
	{operation: "TagResource", body: `{"resourceArn":"$cluster-not","tags":[{"key":"floor","value":"2"}]}`, wantError: clusterNotFound},
	{operation: "ListTagsForResource", body: `{"resourceArn":"$cluster"}`, until: "tags.1.value=2"},
	{operation: "ListTagsForResource", body: `{"resourceArn":"$cluster-not"}`, wantError: clusterNotFound},
	{operation: "UntagResource", body: `{"resourceArn":"$cluster","tagKeys":["floor","team"]}`},
	{operation: "UntagResource", body: `{"resourceArn":"$started-not","tagKeys":["floor"]}`, wantError: resourceNotFound},
	{operation: "ListTagsForResource", body: `{"resourceArn":"$cluster"}`},

	{operation: "PutAccountSetting", body: `{"name":"awsvpcTrunking","value":"enabled"}`},
	{operation: "PutAccountSetting", body: `{"name":"taskLongArnFormat","value":"disabled"}`, wantError: invalidParameter},
	{operation: "PutAccountSettingDefault", body: `{"name":"awsvpcTrunking","value":"disabled"}`},
	{operation: "PutAccountSettingDefault", body: `{"name":"nonsense","value":"enabled"}`, wantError: invalidParameter},
	{operation: "ListAccountSettings", body: `{"effectiveSettings":true,"maxResults":10}`, saves: "next=nextToken"},
	{operation: "ListAccountSettings", body: `{"effectiveSettings":true,"nextToken":"$next"}`},
	{operation: "ListAccountSettings", body: manyResults, wantError: invalidParameter},
	{operation: "DeleteAccountSetting", body: `{"name":"awsvpcTrunking"}`},
	{operation: "DeleteAccountSetting", body: `{"name":"nonsense"}`, wantError: invalidParameter},

	{operation: "UpdateContainerInstancesState", body: `{"containerInstances":["$instance"],"status":"DRAINING"}`, until: "containerInstances.0.status=DRAINING"},
	{operation: "UpdateContainerInstancesState", body: `{"containerInstances":["$instance","` + noSuchTask + `"],"status":"ACTIVE"}`, until: "containerInstances.0.status=ACTIVE"},
	{operation: "UpdateContainerInstancesState", body: `{"cluster":"nowhere","containerInstances":["$instance"],"status":"ACTIVE"}`, wantError: clusterNotFound},
	{operation: "ListContainerInstances", body: `{"cluster":"spare-$me"}`, saves: "spare=containerInstanceArns.0"},
	{operation: "DeleteCluster", body: `{"cluster":"spare-$me"}`, wantError: "ClusterContainsContainerInstancesException"},
	{operation: "DeregisterContainerInstance", body: `{"cluster":"spare-$me","containerInstance":"$spare","force":true}`, until: "containerInstance.status=INACTIVE"},
	{operation: "DeregisterContainerInstance", body: `{"containerInstance":"` + noSuchTask + `"}`, wantError: invalidParameter},

	{operation: "DeleteTaskDefinitions", body: `{"taskDefinitions":["$definition","nothing:1"]}`, until: "failures.0.arn=$definition"},
	{operation: "DeregisterTaskDefinition", body: `{"taskDefinition":"$definition"}`, until: "taskDefinition.status=INACTIVE"},
	{operation: "DeregisterTaskDefinition", body: `{"taskDefinition":"nothing:1"}`, wantError: clientException},
	{operation: "RunTask", body: `{"taskDefinition":"$definition"}`, wantError: invalidParameter},
	{operation: "DeleteTaskDefinitions", body: `{"taskDefinitions":["$definition"]}`, until: "taskDefinitions.0.status=DELETE_IN_PROGRESS"},
	{operation: "DeleteTaskDefinitions", body: `{"taskDefinitions":["a:1","a:2","a:3","a:4","a:5","a:6","a:7","a:8","a:9","a:10","a:11"]}`, wantError: invalidParameter},
	{operation: "DeleteCluster", body: `{"cluster":"$me"}`, until: "cluster.status=INACTIVE"},
	{operation: "DeleteCluster", body: `{"cluster":"nowhere"}`, wantError: clusterNotFound},
}
