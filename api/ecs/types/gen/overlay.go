package main

// The overlay holds the decisions about the model: the members that Pinion refuses and why, the members that it never
// answers and why, the members of its own, and the Go types of shapes. A member of the model that nothing here
// speaks about is read, or answered, as the model has it.

// overlay holds the decisions about one structure, in an input or in an output.
type overlay struct {
	Go       string            // the Go type that holds it, which is written by hand; the other fields are for generated ones
	Name     string            // of the generated struct, where it is not the shape's
	Optional string            // members of an answer that are left out when they are empty
	Types    map[string]string // Go types of members that differ from their shapes'
	Refused  map[string]string // members of an input that are refused, with the reason
	Never    map[string]string // the same for good: the reason stays true on machines that one owns
	LeftOut  map[string]string // members of an answer that are never shown, by the reason for it
	Own      []own             // members that Pinion has and the model has not
}

// own is a member that Pinion has and the model has not.
type own struct{ name, goType, comment string }

// tag is the name on the wire. Of what Pinion answers, an own member is absent when there is nothing to tell.
func (o own) tag(input bool) string {
	if input {
		return o.name
	}
	return o.name + ",omitempty"
}

// operations are the operations that Pinion does, by the file that their shapes are written to.
var operations = []struct {
	file  string
	names []string
}{
	{"cluster_gen.go", []string{"CreateCluster", "DescribeClusters", "ListClusters", "UpdateCluster", "UpdateClusterSettings", "DeleteCluster", "PutClusterCapacityProviders"}},
	{"task_definition_gen.go", []string{"RegisterTaskDefinition", "DeregisterTaskDefinition", "DeleteTaskDefinitions", "DescribeTaskDefinition", "ListTaskDefinitions", "ListTaskDefinitionFamilies"}},
	{"task_gen.go", []string{"RunTask", "StartTask", "StopTask", "DescribeTasks", "ListTasks"}},
	{"instance_gen.go", []string{"DescribeContainerInstances", "ListContainerInstances", "UpdateContainerInstancesState", "RegisterContainerInstance", "DeregisterContainerInstance", "UpdateContainerAgent"}},
	{"attribute_gen.go", []string{"PutAttributes", "DeleteAttributes", "ListAttributes"}},
	{"capacity_provider_gen.go", []string{"CreateCapacityProvider", "UpdateCapacityProvider", "DeleteCapacityProvider", "DescribeCapacityProviders"}},
	{"account_gen.go", []string{"TagResource", "UntagResource", "ListTagsForResource", "PutAccountSetting", "PutAccountSettingDefault", "DeleteAccountSetting", "ListAccountSettings"}},
	{"service_gen.go", []string{"CreateService", "UpdateService", "DeleteService", "DescribeServices", "ListServices", "ListServicesByNamespace"}},
	{"service_deployment_gen.go", []string{"ListServiceDeployments", "DescribeServiceDeployments", "DescribeServiceRevisions", "StopServiceDeployment", "ContinueServiceDeployment"}},
	{"task_set_gen.go", []string{"CreateTaskSet", "UpdateTaskSet", "DeleteTaskSet", "DescribeTaskSets", "UpdateServicePrimaryTaskSet"}},
	{"daemon_gen.go", []string{
		"CreateDaemon", "UpdateDaemon", "DeleteDaemon", "DescribeDaemon", "ListDaemons", "ListDaemonDeployments", "DescribeDaemonDeployments", "DescribeDaemonRevisions",
	}},
	{"daemon_definition_gen.go", []string{"RegisterDaemonTaskDefinition", "DeleteDaemonTaskDefinition", "DescribeDaemonTaskDefinition", "ListDaemonTaskDefinitions"}},
	{"task_protection_gen.go", []string{"GetTaskProtection", "UpdateTaskProtection"}},
	{"execute_command_gen.go", []string{"ExecuteCommand"}},
}

// enums are those whose values checks read, by the name of the variable.
var enums = map[string]string{
	"ApplicationProtocols": "ApplicationProtocol", "CapacityProviderFields": "CapacityProviderField", "ClusterFields": "ClusterField",
	"ContainerConditions": "ContainerCondition", "ContainerInstanceFields": "ContainerInstanceField",
	"DaemonDeploymentStatuses": "DaemonDeploymentStatus", "DaemonDefinitionStatuses": "DaemonTaskDefinitionStatusFilter", "DaemonRevisionFilters": "DaemonTaskDefinitionRevisionFilter",
	"DaemonTagSources": "DaemonPropagateTags", "DaemonPIDModes": "DaemonPidMode", "DaemonIPCModes": "DaemonIpcMode",
	"DeploymentControllers": "DeploymentControllerType", "HookActions": "DeploymentLifecycleHookAction", "HookStages": "DeploymentLifecycleHookStage",
	"HookTargets": "DeploymentLifecycleHookTargetType", "DeploymentStrategies": "DeploymentStrategy", "Rebalancings": "AvailabilityZoneRebalancing",
	"ServiceDeploymentStatuses": "ServiceDeploymentStatus", "StopTypes": "StopServiceDeploymentStopType", "TagSources": "PropagateTags", "ThresholdTypes": "ThresholdType",
	"ContainerInstanceStatuses": "ContainerInstanceStatus", "DesiredStatuses": "DesiredStatus",
	"ExecuteCommandLoggings": "ExecuteCommandLogging", "LaunchTypes": "LaunchType", "ManagedDrainings": "ManagedDraining",
	"ManagedScalingStatuses": "ManagedScalingStatus", "ManagedTerminationProtections": "ManagedTerminationProtection",
	"ResourceManagementTypes": "ResourceManagementType", "SchedulingStrategies": "SchedulingStrategy", "ServiceFields": "ServiceField",
	"SettingNames": "SettingName", "SortOrders": "SortOrder", "TargetTypes": "TargetType",
	"TaskDefinitionFamilyStatuses": "TaskDefinitionFamilyStatus", "TaskDefinitionFields": "TaskDefinitionField",
	"TaskDefinitionStatuses": "TaskDefinitionStatus", "TaskFields": "TaskField", "TaskSetFields": "TaskSetField", "ScaleUnits": "ScaleUnit", "TransportProtocols": "TransportProtocol",
	"UlimitNames": "UlimitName",
}

// both are shapes that look the same in inputs and answers.
var both = map[string]overlay{
	"Tag":                                  {Go: "spec.Tag"},
	"ClusterSetting":                       {Go: "spec.Setting"},
	"ClusterConfiguration":                 {Go: "*spec.ClusterConfiguration"},
	"ClusterServiceConnectDefaults":        {Go: "*ServiceConnectDefaults"},
	"ClusterServiceConnectDefaultsRequest": {Go: "*ServiceConnectDefaults"},
	"CapacityProviderStrategyItem":         {Go: "StrategyItem"},
	"PlacementConstraint":                  {Go: "spec.PlacementConstraint"},
	"PlacementStrategy":                    {Go: "spec.PlacementStrategy"},
	"TaskDefinitionPlacementConstraint":    {Go: "spec.PlacementConstraint"},
	"RuntimePlatform":                      {Go: "*spec.RuntimePlatform"},
}

// Why inputs are refused.
const (
	noFargate  = "it belongs to Fargate"
	hostsOnly  = "a capacity provider is for all clusters here; PutClusterCapacityProviders says which use it"
	ownHosts   = "machines are your own here; give autoScalingGroupProvider, or the name alone"
	noEBS      = "there is no EBS here; volumes are directories of the host, or scratch space of the task"
	noFirewall = "no firewall stands between the tasks of a network: what has a route to one reaches it"
	askForGPUs = "GPUs are asked for with resourceRequirements"
	noRegistry = "names of services are made with serviceConnectConfiguration, and every host answers DNS for them"
	noCloudMap = "there is no AWS Cloud Map here; a task set has a load balancer"
	noSidecar  = "the proxy of each host carries the requests, not a container beside the task"
	noLattice  = "VPC Lattice is a service of AWS"
	noGateways = "gateways are a service of AWS"
	noMonitors = "it belongs to Amazon CloudWatch"
	noLambda   = "there is no Lambda here; a hook of the targetType PAUSE has nothing but stages and a timeout"
)

// Why answers leave members out.
const (
	inputRefused       = "an input with it is refused"
	noAccelerators     = "it belongs to accelerators of AWS"
	noManagedInstances = "it belongs to Amazon ECS Managed Instances"
	neverFails         = "what is shown never fails later"
	agentIsPinion      = "the agent is a part of pinion"
	ofCodeDeploy       = "only AWS CodeDeploy sets it"
	noLambdaHere       = "there is no Lambda here"
	noLatticeHere      = "there is no VPC Lattice here"
)

// inputs are the structures that operations read.
var inputs = map[string]overlay{
	"Attribute":           {Go: "TargetedAttribute"},
	"ContainerDefinition": {Go: "ContainerDefinitionInput", Own: []own{{name: "gpuCount"}}},
	"ResourceRequirement": {Go: "ResourceRequirementInput", Own: []own{{name: "count"}, {name: "capabilities"}}},
	"ContainerOverride":   {Go: "ContainerOverrideInput"},
	"Volume":              {Go: "VolumeInput"},
	"RegisterTaskDefinitionRequest": {
		Never: map[string]string{
			"proxyConfiguration":    "it belongs to AWS App Mesh, which ended; names of services are made with serviceConnectConfiguration",
			"inferenceAccelerators": "it belongs to Amazon Elastic Inference, which ended; " + askForGPUs,
			"ephemeralStorage":      noFargate + "; a task has the disk of its host, and tmpfs of linuxParameters has a size",
			"enableFaultInjection":  "faults are injected by AWS Fault Injection Service, which has no part in machines of your own",
		},
		Own: []own{{"version", "any", "of a compose file; it means nothing here"}},
	},
	"RunTaskRequest": {
		Refused: map[string]string{"volumeConfigurations": noEBS},
		Own:     []own{{"array", "string", `Pinion's own, in place of count: "0-99"`}},
	},
	"StartTaskRequest": {
		Refused: map[string]string{"volumeConfigurations": noEBS},
	},
	"UpdateContainerInstancesStateRequest": {Own: []own{
		{"stopTasks", "bool", "Pinion's own, with DRAINING: stop the tasks too"},
		{"deadlineSeconds", "int", "Pinion's own, with stopTasks: the tasks have ended by then; 0: they are stopped now, and have their stop timeouts"},
	}},
	"StopTaskRequest": {Own: []own{{"force", "bool", "Pinion's own: kill the containers at once"}}},
	"TaskOverride":    {Refused: map[string]string{"inferenceAcceleratorOverrides": askForGPUs, "ephemeralStorage": noFargate}},
	// A host says itself what an agent says of its machine: nothing but the cluster is read.
	"RegisterContainerInstanceRequest": {Types: map[string]string{
		"containerInstanceArn": "any", "instanceIdentityDocument": "any", "instanceIdentityDocumentSignature": "any", "attributes": "any",
		"platformDevices": "any", "totalResources": "any", "tags": "any", "versionInfo": "any",
	}},
	"CreateCapacityProviderRequest": {Refused: map[string]string{"cluster": hostsOnly, "managedInstancesProvider": ownHosts}},
	"UpdateCapacityProviderRequest": {Refused: map[string]string{"cluster": hostsOnly, "managedInstancesProvider": ownHosts}},
	"DeleteCapacityProviderRequest": {Refused: map[string]string{"cluster": hostsOnly}},
	"AutoScalingGroupProvider":      {Name: "AutoScalingGroupProviderInput"},
	"ManagedScaling":                {Name: "ManagedScalingInput"},
	"LoadBalancer":                  {Name: "LoadBalancerInput", Refused: map[string]string{"loadBalancerName": "there are no classic load balancers; name a target group"}},
	"AdvancedConfiguration":         {Name: "AdvancedConfigurationInput"},
	"LinearConfiguration":           {Name: "LinearConfigurationInput", Types: map[string]string{"stepPercent": "*float64", "stepBakeTimeInMinutes": "*int"}},
	"CanaryConfiguration":           {Name: "CanaryConfigurationInput", Types: map[string]string{"canaryPercent": "*float64", "canaryBakeTimeInMinutes": "*int"}},
	"CreateServiceRequest":          {Types: serviceTypes, Refused: serviceRefused},
	"UpdateServiceRequest":          {Types: serviceTypes, Refused: serviceRefused},
	"DeploymentConfiguration":       {Refused: map[string]string{"earlySuccessCriteria": "a deployment is complete when all of its tasks are healthy"}},
	"DeploymentCircuitBreaker":      {Types: map[string]string{"resetOnHealthyTask": "*bool"}},
	"DeploymentLifecycleHook":       {Refused: map[string]string{"hookTargetArn": noLambda, "roleArn": noLambda, "hookDetails": noLambda}},
	"ServiceConnectConfiguration": {Name: "ServiceConnectInput", Refused: map[string]string{
		"logConfiguration": noSidecar, "accessLogConfiguration": noSidecar, "containerConfigurations": noSidecar,
	}},
	"ServiceConnectService": {Name: "ServiceConnectServiceInput", Refused: map[string]string{
		"ingressPortOverride": noSidecar + "; clients choose the port with clientAliases", "tls": "requests between hosts are not encrypted",
	}},
	"ServiceConnectClientAlias":                 {Name: "ServiceConnectAliasInput"},
	"ServiceConnectTestTrafficRules":            {Name: "ServiceConnectTestInput"},
	"ServiceConnectTestTrafficHeaderRules":      {Name: "ServiceConnectTestHeaderInput"},
	"ServiceConnectTestTrafficHeaderMatchRules": {Name: "ServiceConnectTestMatchInput", Types: map[string]string{"exact": "*string"}},
	"CreateTaskSetRequest":                      {Refused: map[string]string{"serviceRegistries": noCloudMap}},
	"NetworkConfiguration":                      {Name: "NetworkConfigurationInput"},
	"AwsVpcConfiguration":                       {Name: "AwsVpcConfigurationInput", Refused: map[string]string{"securityGroups": noFirewall}},
	"Scale":                                     {Name: "ScaleInput", Types: map[string]string{"value": "*float64"}},
	"ListServiceDeploymentsRequest":             {Types: map[string]string{"createdAt": "any"}},
}

// outputs are the structures that operations answer with.
var outputs = map[string]overlay{
	"Attribute":        {Go: "spec.Attribute", LeftOut: map[string]string{"the attribute stands in its resource": "targetId targetType"}},
	"NetworkInterface": {LeftOut: map[string]string{"networks of tasks have addresses of IPv4": "ipv6Address"}},
	"ContainerDefinition": {Go: "spec.ContainerDefinition", LeftOut: map[string]string{
		inputRefused: "credentialSpecs",
	}},
	"LinuxParameters":       {Go: "spec.LinuxParameters"},
	"FirelensConfiguration": {Go: "firelens.Configuration"},
	"LogConfiguration":      {Go: "logdriver.Configuration"},
	"PortMapping":           {Go: "spec.PortMapping"},
	"Volume": {Go: "spec.Volume", LeftOut: map[string]string{
		inputRefused: "configuredAtLaunch fsxWindowsFileServerVolumeConfiguration s3filesVolumeConfiguration",
	}},
	"NetworkBinding":           {Go: "spec.NetworkBinding"},
	"TaskOverride":             {Go: "TaskOverrides", LeftOut: map[string]string{inputRefused: "ephemeralStorage"}},
	"ContainerOverride":        {Go: "spec.ContainerOverride"},
	"AutoScalingGroupProvider": {Go: "*capacityprovider.AutoScaling"},
	"Failure":                  {Optional: "arn detail"},
	"Cluster": {
		Optional: "attachmentsStatus",
		Types:    map[string]string{"attachments": "[]Attachment,omitzero"},
	},
	"TaskDefinition": {
		Optional: "taskRoleArn executionRoleArn networkMode requiresAttributes requiresCompatibilities cpu memory pidMode ipcMode registeredBy",
		LeftOut:  map[string]string{inputRefused: "inferenceAccelerators proxyConfiguration ephemeralStorage enableFaultInjection"},
	},
	"RegisterTaskDefinitionResponse": {Types: map[string]string{"tags": "[]spec.Tag,omitzero"}},
	"DescribeTaskDefinitionResponse": {Types: map[string]string{"tags": "[]spec.Tag,omitzero"}},
	"DescribeTasksResponse":          {Types: map[string]string{"tasks": "[]*RenderedTask"}},
	"Task": {
		Optional: "availabilityZone capacityProviderName connectivity containerInstanceArn startedBy stopCode stoppedReason",
		Types:    map[string]string{"overrides": "TaskOverrides"},
		LeftOut:  map[string]string{noFargate: "platformVersion platformFamily ephemeralStorage fargateEphemeralStorage", noAccelerators: "inferenceAccelerators"},
	},
	"Container": {
		Optional: "image imageDigest runtimeId reason cpu memory memoryReservation gpuIds gpuSharingStrategy managedAgents",
		Own:      []own{{"peakMemory", "int64", "Pinion's own: bytes that it used at most, of one that has ended"}, {"gpuTotals", "*gpuuse.Totals", "Pinion's own: how it has used its GPUs so far"}},
		Types:    map[string]string{"networkBindings": "[]spec.NetworkBinding,omitzero", "gpuSharingStrategy": "*spec.SharingStrategy"},
		LeftOut:  map[string]string{noAccelerators: "neuronDeviceIds"},
	},
	"ManagedAgent": {Optional: "reason"},
	"ContainerInstance": {
		Optional: "ec2InstanceId healthStatus gpuDevices",
		LeftOut:  map[string]string{noManagedInstances: "capacityProviderName", neverFails: "statusReason", agentIsPinion: "agentUpdateStatus"},
	},
	"GpuDevice":                 {Name: "GPUDevice", Types: map[string]string{"totalMemoryInMiB": "int64", "remainingMemoryInMiB": "int64", "containerCount": "int"}},
	"VersionInfo":               {Optional: "agentVersion agentHash dockerVersion"},
	"Resource":                  {Types: map[string]string{"integerValue": "int64", "stringSetValue": "[]string,omitzero"}},
	"InstanceHealthCheckResult": {Optional: "statusReason"},
	"CapacityProvider": {
		Optional: "updateStatus",
		Types:    map[string]string{"autoScalingGroupProvider": "*capacityprovider.AutoScaling"},
		LeftOut:  map[string]string{noManagedInstances: "cluster managedInstancesProvider", neverFails: "updateStatusReason"},
	},
	"PutAttributesResponse":    {Types: map[string]string{"attributes": "[]TargetedAttribute"}},
	"DeleteAttributesResponse": {Types: map[string]string{"attributes": "[]TargetedAttribute"}},
	"ListAttributesResponse":   {Types: map[string]string{"attributes": "[]TargetedAttribute"}},
	"Service": {
		Optional: "launchType roleArn createdBy propagateTags availabilityZoneRebalancing resourceManagementType currentServiceDeployment " +
			"taskDefinition taskSets networkConfiguration deploymentConfiguration deploymentController",
		LeftOut: map[string]string{noFargate: "platformVersion platformFamily"},
	},
	"TaskSet": {
		Optional: "externalId launchType networkConfiguration",
		LeftOut:  map[string]string{noFargate: "platformVersion platformFamily fargateEphemeralStorage", ofCodeDeploy: "startedBy"},
	},
	"Scale": {Types: map[string]string{"value": "float64"}},
	"DeploymentConfiguration": {
		Optional: "strategy deploymentCircuitBreaker alarms linearConfiguration canaryConfiguration lifecycleHooks",
		LeftOut:  map[string]string{inputRefused: "earlySuccessCriteria"},
	},
	"DeploymentCircuitBreaker": {Optional: "thresholdConfiguration", Types: map[string]string{"resetOnHealthyTask": "*bool,omitempty"}},
	"Deployment": {
		Optional: "launchType rolloutState rolloutStateReason networkConfiguration serviceConnectConfiguration serviceConnectResources",
		LeftOut: map[string]string{
			noFargate: "platformVersion platformFamily fargateEphemeralStorage", noLatticeHere: "vpcLatticeConfigurations",
			noEBS: "volumeConfigurations",
		},
	},
	"NetworkConfiguration":  {Optional: "awsvpcConfiguration"},
	"LoadBalancer":          {Optional: "targetGroupArn loadBalancerName advancedConfiguration"},
	"AdvancedConfiguration": {Optional: "testListenerRule"},
	"LinearConfiguration":   {Types: map[string]string{"stepPercent": "float64", "stepBakeTimeInMinutes": "int"}},
	"CanaryConfiguration":   {Types: map[string]string{"canaryPercent": "float64", "canaryBakeTimeInMinutes": "int"}},
	"ServiceRegistry":       {Optional: "containerName"},
	"ServiceDeployment": {
		Optional: "statusReason lifecycleStage deploymentConfiguration rollback alarms deploymentCircuitBreaker targetServiceRevision lifecycleHookDetails",
	},
	"DeploymentLifecycleHook": {
		Optional: "timeoutConfiguration", LeftOut: map[string]string{noLambdaHere: "hookTargetArn roleArn hookDetails"},
	},
	"DeploymentLifecycleHookTimeoutConfiguration": {Optional: "timeoutInMinutes action"},
	"DeploymentLifecycleHookDetail":               {LeftOut: map[string]string{noLambdaHere: "targetArn"}},
	"ServiceDeploymentBrief":                      {Optional: "statusReason"},
	"ServiceRevisionSummary":                      {Optional: "requestedTestTrafficWeight requestedProductionTrafficWeight", Types: map[string]string{"requestedTestTrafficWeight": "*float64,omitempty", "requestedProductionTrafficWeight": "*float64,omitempty"}},
	"ServiceRevision": {
		Optional: "launchType networkConfiguration serviceConnectConfiguration",
		LeftOut: map[string]string{
			noFargate: "platformVersion platformFamily fargateEphemeralStorage", noLatticeHere: "vpcLatticeConfigurations resolvedConfiguration",
			noEBS: "volumeConfigurations", inputRefused: "gatewayConnectors monitoring overrides", noManagedInstances: "ecsManagedResources",
		},
	},
	"ContainerImage":              {Optional: "imageDigest"},
	"ServiceConnectConfiguration": {Optional: "namespace services", LeftOut: map[string]string{inputRefused: "logConfiguration accessLogConfiguration containerConfigurations"}},
	"ServiceConnectService": {
		Optional: "discoveryName timeout clientAliases",
		LeftOut:  map[string]string{inputRefused: "ingressPortOverride tls"},
	},
	"ServiceConnectClientAlias":            {Optional: "dnsName testTrafficRules"},
	"ServiceConnectTestTrafficHeaderRules": {Optional: "value"},
	"TimeoutConfiguration":                 {Optional: "idleTimeoutSeconds perRequestTimeoutSeconds"},
}
