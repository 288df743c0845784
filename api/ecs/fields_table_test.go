package ecs

// works is the fate of what a test shows.
func works(test string) fate { return fate{test: test} }

const (
	testProcess       = "node/containerd.TestWhatAContainersProcessGets"
	testFiles         = "node/containerd.TestWhatAContainerHasOfFilesAndTerminals"
	testLimits        = "node/containerd.TestLimits"
	testPorts         = "node/network.TestPublishedPorts"
	testNames         = "node/task.TestTheDefinitionsOwnNames"
	testSecrets       = "node/secrets.TestAContainerIsGivenItsOwnSecrets"
	testHealth        = "node.TestHealthIsWhatTheChecksFind"
	testRestarts      = "node.TestAContainerStaysEnded"
	testDockerVolumes = "node/task.TestASharedVolumeOutlivesItsTask"
	testFileSystems   = "node/filesystem.TestTasksShareAMount"
	testIsolation     = "node.TestAHostDoesNotTakeThePoolsWord"

	noAppMesh   = "App Mesh of AWS, which ended"
	linuxOnly   = "it is for containers of Windows, and hosts run Linux"
	ownMachines = "tasks run on machines of your own, which are `EC2` or `EXTERNAL`"
)

// fates has a line for each member of a task definition, or for one that has it.
var fates = map[string]fate{
	"family":                    works("api/ecs.TestDefinitionsAreNumberedFoundAndListed"),
	"taskRoleArn":               works("packaging/e2e.TestATaskUsesThePoolByItsRole"),
	"executionRoleArn":          {none: "hosts pull images and send logs by themselves; for registries there is `repositoryCredentials`"},
	"networkMode":               works("node/task.TestNameFilesByNetworkMode"),
	"requiresCompatibilities[]": {none: "every host is `EC2` and `EXTERNAL`"},
	"cpu":                       works(testLimits),
	"memory":                    works(testLimits),
	"tags[].key":                works("api/ecs.TestTasksGetTheTagsThatTheCallAsksFor"),
	"tags[].value":              works("api/ecs.TestTasksGetTheTagsThatTheCallAsksFor"),
	"pidMode":                   works("node/containerd.TestContainersOfATaskShareNamespaces"),
	"ipcMode":                   works("node/containerd.TestContainersOfATaskShareNamespaces"),
	"proxyConfiguration":        {never: noAppMesh, value: `{"type":"APPMESH","containerName":"c"}`},
	"inferenceAccelerators":     {never: "Elastic Inference of AWS, which ended", value: `[{"deviceName":"d","deviceType":"eia2.medium"}]`},
	"ephemeralStorage":          {never: "it sizes the disk of a task on Fargate; a task here has that of its host", value: `{"sizeInGiB":30}`},
	"enableFaultInjection":      {never: "Fault Injection Service of AWS", value: `true`},

	"placementConstraints[].type":           works("server/schedule.TestConstraints"),
	"placementConstraints[].expression":     works("server/schedule.TestConstraints"),
	"runtimePlatform.cpuArchitecture":       works("server/schedule.TestEveryRefusalExplainsItself"),
	"runtimePlatform.operatingSystemFamily": works("api/ecs.TestEveryValueOfATaskDefinitionIsTakenOrRefused"),

	"volumes[].name":                                                     works(testFiles),
	"volumes[].host.sourcePath":                                          works("node/volume.TestDirectoriesThatTasksCanMount"),
	"volumes[].dockerVolumeConfiguration.scope":                          works(testDockerVolumes),
	"volumes[].dockerVolumeConfiguration.autoprovision":                  works(testDockerVolumes),
	"volumes[].dockerVolumeConfiguration.driver":                         works("packaging/e2e.TestASharedVolumeStaysForTheNextTask"),
	"volumes[].dockerVolumeConfiguration.driverOpts":                     {never: "what a host mounts is the word of its operator: `pinion up --volume NAME=DIR` gives it the name of the volume", value: `{"type":"nfs"}`},
	"volumes[].dockerVolumeConfiguration.labels":                         {none: "they are recorded and shown"},
	"volumes[].efsVolumeConfiguration.fileSystemId":                      works(testFileSystems),
	"volumes[].efsVolumeConfiguration.rootDirectory":                     works(testFileSystems),
	"volumes[].efsVolumeConfiguration.transitEncryption":                 works("raftfsm/filesystem.TestAHostGivesTheFileSystemsThatItsOperatorNames"),
	"volumes[].efsVolumeConfiguration.transitEncryptionPort":             {none: "the host encrypts by itself, without a proxy that listens"},
	"volumes[].efsVolumeConfiguration.authorizationConfig.accessPointId": {never: "nobody would enforce its user and its directory; `rootDirectory` names a directory", value: `"fsap-1"`},
	"volumes[].efsVolumeConfiguration.authorizationConfig.iam":           {none: "no server asks AWS IAM"},
	"volumes[].s3filesVolumeConfiguration":                               {never: "a file system of Amazon S3 Files is in AWS alone", value: `{"fileSystemArn":"a"}`},
	"volumes[].fsxWindowsFileServerVolumeConfiguration":                  {never: linuxOnly, value: `{"fileSystemId":"fs-1"}`},
	"volumes[].configuredAtLaunch":                                       {never: "it makes a volume of Amazon EBS, which is in AWS alone", value: `true`},

	"containerDefinitions[].name":                                       works("node.TestATaskRunsAndEnds"),
	"containerDefinitions[].image":                                      works("node/containerd.TestWhatIsHereCostsNoNetwork"),
	"containerDefinitions[].repositoryCredentials.credentialsParameter": works("node/containerd.TestATaskBringsTheCredentialsOfItsRegistry"),
	"containerDefinitions[].cpu":                                        works(testLimits),
	"containerDefinitions[].memory":                                     works(testLimits),
	"containerDefinitions[].memoryReservation":                          works("raftfsm/spec.TestDemandOf"),
	"containerDefinitions[].links[]":                                    works("node.TestLinkedContainersHaveTheirNames"),
	"containerDefinitions[].essential":                                  works("node.TestAnEssentialExitStopsTheOthers"),
	"containerDefinitions[].entryPoint[]":                               works("node/containerd.TestEntryPointAndCommandCombineAsInDocker"),
	"containerDefinitions[].command[]":                                  works("node/containerd.TestEntryPointAndCommandCombineAsInDocker"),
	"containerDefinitions[].startTimeout":                               works("node.TestWaitingInVainEndsTheTask"),
	"containerDefinitions[].stopTimeout":                                works("node.TestStoppingWaitsForTheStopTimeout"),
	"containerDefinitions[].versionConsistency":                         works("node.TestTheTasksOfARunWaitForOneDigest"),
	"containerDefinitions[].hostname":                                   works(testProcess),
	"containerDefinitions[].user":                                       works(testProcess),
	"containerDefinitions[].workingDirectory":                           works(testProcess),
	"containerDefinitions[].disableNetworking":                          works("node.TestAContainerOfATaskHasNoNetwork"),
	"containerDefinitions[].privileged":                                 works(testProcess),
	"containerDefinitions[].readonlyRootFilesystem":                     works(testFiles),
	"containerDefinitions[].dnsServers[]":                               works(testNames),
	"containerDefinitions[].dnsSearchDomains[]":                         works(testNames),
	"containerDefinitions[].dockerSecurityOptions[]":                    works("node/containerd.TestNoNewPrivileges"),
	"containerDefinitions[].interactive":                                works(testFiles),
	"containerDefinitions[].pseudoTerminal":                             works(testFiles),
	"containerDefinitions[].dockerLabels":                               works("node/containerd.TestLabelsOfADefinitionNeverReplaceThoseOfTheRuntime"),
	"containerDefinitions[].credentialSpecs[]":                          {never: linuxOnly, value: `["x"]`},
	"containerDefinitions[].firelensConfiguration.type":                 works("packaging/e2e.TestALogRouterGetsTheLinesOfATask"),
	"containerDefinitions[].firelensConfiguration.options":              works("node/firelens.TestTheConfigurationOfARouter"),

	"containerDefinitions[].portMappings[].containerPort":      works(testPorts),
	"containerDefinitions[].portMappings[].hostPort":           works(testPorts),
	"containerDefinitions[].portMappings[].protocol":           works(testPorts),
	"containerDefinitions[].portMappings[].name":               works("api/ecs.TestNamesGoWithRevisions"),
	"containerDefinitions[].portMappings[].appProtocol":        works("api/ecs.TestNamesGoWithRevisions"),
	"containerDefinitions[].portMappings[].containerPortRange": works("node/network.TestARangeOfPortsIsPublished"),

	"containerDefinitions[].restartPolicy.enabled":              works("node.TestAContainerIsStartedAgain"),
	"containerDefinitions[].restartPolicy.ignoredExitCodes[]":   works(testRestarts),
	"containerDefinitions[].restartPolicy.restartAttemptPeriod": works("node.TestTheTimeCountsFromTheLastStart"),

	"containerDefinitions[].environment[].name":       works("node/task.TestEnvironment"),
	"containerDefinitions[].environment[].value":      works("node/task.TestEnvironment"),
	"containerDefinitions[].environmentFiles[].value": works("node/envfile.TestFilesGiveWhatNothingElseSets"),
	"containerDefinitions[].environmentFiles[].type":  works("node/envfile.TestFilesGiveWhatNothingElseSets"),
	"containerDefinitions[].secrets[].name":           works(testSecrets),
	"containerDefinitions[].secrets[].valueFrom":      works(testSecrets),
	"containerDefinitions[].extraHosts[].hostname":    works(testNames),
	"containerDefinitions[].extraHosts[].ipAddress":   works(testNames),

	"containerDefinitions[].mountPoints[].sourceVolume":    works(testFiles),
	"containerDefinitions[].mountPoints[].containerPath":   works(testFiles),
	"containerDefinitions[].mountPoints[].readOnly":        works(testFiles),
	"containerDefinitions[].volumesFrom[].sourceContainer": works("node.TestVolumesOfAnotherContainer"),
	"containerDefinitions[].volumesFrom[].readOnly":        works("node.TestVolumesOfAnotherContainer"),

	"containerDefinitions[].linuxParameters.capabilities.add[]":      works(testProcess),
	"containerDefinitions[].linuxParameters.capabilities.drop[]":     works(testProcess),
	"containerDefinitions[].linuxParameters.devices[].hostPath":      works("node/hostdevice.TestAContainerHasTheDevicesThatItsHostGives"),
	"containerDefinitions[].linuxParameters.devices[].containerPath": works("node/containerd.TestAContainerHasDevicesOfItsHost"),
	"containerDefinitions[].linuxParameters.devices[].permissions[]": works("node/containerd.TestAContainerHasDevicesOfItsHost"),
	"containerDefinitions[].linuxParameters.initProcessEnabled":      works("node/containerd.TestAnInitIsTheFirstProcess"),
	"containerDefinitions[].linuxParameters.sharedMemorySize":        works(testFiles),
	"containerDefinitions[].linuxParameters.tmpfs[].containerPath":   works(testFiles),
	"containerDefinitions[].linuxParameters.tmpfs[].size":            works(testFiles),
	"containerDefinitions[].linuxParameters.tmpfs[].mountOptions[]":  works("node/containerd.TestRootOfAContainerIsNobodyOnItsHost"),
	"containerDefinitions[].linuxParameters.maxSwap":                 works("node/containerd.TestSwapIsLimitedAsOnECS"),
	"containerDefinitions[].linuxParameters.swappiness":              works("node/containerd.TestSwapIsLimitedAsOnECS"),

	"containerDefinitions[].dependsOn[].containerName": works("node.TestAContainerWaitsForWhatItDependsOn"),
	"containerDefinitions[].dependsOn[].condition":     works("node.TestAContainerWaitsForWhatItDependsOn"),

	"containerDefinitions[].ulimits[].name":             works(testProcess),
	"containerDefinitions[].ulimits[].softLimit":        works(testProcess),
	"containerDefinitions[].ulimits[].hardLimit":        works(testProcess),
	"containerDefinitions[].systemControls[].namespace": works(testProcess),
	"containerDefinitions[].systemControls[].value":     works(testProcess),

	"containerDefinitions[].logConfiguration.logDriver":                 works("node/containerd.TestLogOptions"),
	"containerDefinitions[].logConfiguration.options":                   works("node/containerd.TestLogOptions"),
	"containerDefinitions[].logConfiguration.secretOptions[].name":      works("node/logforward.TestASecretOptionIsOnNoDisk"),
	"containerDefinitions[].logConfiguration.secretOptions[].valueFrom": works("server.TestAHostGetsTheLogOptionsOfItsOwnTasks"),

	"containerDefinitions[].healthCheck.command[]":   works(testHealth),
	"containerDefinitions[].healthCheck.interval":    works(testHealth),
	"containerDefinitions[].healthCheck.timeout":     works("node.TestACheckThatHangsHasFailed"),
	"containerDefinitions[].healthCheck.retries":     works(testHealth),
	"containerDefinitions[].healthCheck.startPeriod": works("node.TestFailuresOfTheStartPeriodDoNotCount"),

	"containerDefinitions[].resourceRequirements[].value":           works("node/containerd.TestAContainerSeesExactlyItsGPUs"),
	"containerDefinitions[].resourceRequirements[].type":            works("node/containerd.TestAContainerSeesExactlyItsGPUs"),
	"containerDefinitions[].resourceRequirements[].sharingStrategy": works("packaging/e2e.TestTasksShareAGPUThroughItsDaemon"),
}

// refusedValues are values of members that are taken, with why they are not.
var refusedValues = map[string]map[string]string{
	"requiresCompatibilities[]": {"FARGATE": ownMachines, "MANAGED_INSTANCES": ownMachines},
	"runtimePlatform.operatingSystemFamily": {
		"WINDOWS_SERVER_2019_FULL": linuxOnly, "WINDOWS_SERVER_2019_CORE": linuxOnly, "WINDOWS_SERVER_2016_FULL": linuxOnly, "WINDOWS_SERVER_2004_CORE": linuxOnly,
		"WINDOWS_SERVER_2022_CORE": linuxOnly, "WINDOWS_SERVER_2022_FULL": linuxOnly, "WINDOWS_SERVER_2025_CORE": linuxOnly, "WINDOWS_SERVER_2025_FULL": linuxOnly,
		"WINDOWS_SERVER_20H2_CORE": linuxOnly,
	},
	"volumes[].efsVolumeConfiguration.authorizationConfig.iam": {"ENABLED": "no server of yours asks AWS IAM"},
	"containerDefinitions[].resourceRequirements[].type":       {"InferenceAccelerator": "Elastic Inference of AWS, which ended", "NeuronDevice": "chips of AWS alone"},
}

// frames are definitions for members, or single values of them, that need others beside them.
var frames = map[string]string{
	"containerDefinitions[].logConfiguration.logDriver splunk":       `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64,"logConfiguration":{"logDriver":"splunk","options":{"splunk-url":"https://splunk:8088"},"secretOptions":[{"name":"splunk-token","valueFrom":"hec"}]}}]}`,
	"volumes[].efsVolumeConfiguration.transitEncryption":             `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64}],"volumes":[{"name":"v","efsVolumeConfiguration":{"fileSystemId":"fs-1","transitEncryption":"VALUE"}}]}`,
	"volumes[].efsVolumeConfiguration.authorizationConfig.iam":       `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64}],"volumes":[{"name":"v","efsVolumeConfiguration":{"fileSystemId":"fs-1","authorizationConfig":{"iam":"VALUE"}}}]}`,
	"containerDefinitions[].logConfiguration.logDriver awsfirelens":  `{"family":"f","containerDefinitions":[{"name":"r","image":"i","memory":64,"firelensConfiguration":{"type":"fluentbit"}},{"name":"c","image":"i","memory":64,"logConfiguration":{"logDriver":"awsfirelens","options":{"Name":"null"}}}]}`,
	"containerDefinitions[].logConfiguration.logDriver gelf":         `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64,"logConfiguration":{"logDriver":"gelf","options":{"gelf-address":"udp://logs:12201"}}}]}`,
	"containerDefinitions[].environmentFiles[].type":                 `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64,"environmentFiles":[{"type":"VALUE","value":"arn:aws:s3:::team/a.env"}]}]}`,
	"containerDefinitions[].linuxParameters.devices[].permissions[]": `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64,"linuxParameters":{"devices":[{"hostPath":"/dev/fuse","permissions":["VALUE"]}]}}]}`,
	"placementConstraints[].type":                                    `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64}],"placementConstraints":[{"type":"VALUE","expression":"attribute:a == b"}]}`,
	"containerDefinitions[].dependsOn[].condition": `{"family":"f","memory":"64","containerDefinitions":[{"name":"a","image":"i","essential":false,"healthCheck":{"command":["CMD","true"]}},` +
		`{"name":"b","image":"i","dependsOn":[{"containerName":"a","condition":"VALUE"}]}]}`,
	"containerDefinitions[].portMappings[].protocol":     `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64,"portMappings":[{"containerPort":80,"protocol":"VALUE"}]}]}`,
	"containerDefinitions[].portMappings[].appProtocol":  `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64,"portMappings":[{"containerPort":80,"name":"web","appProtocol":"VALUE"}]}]}`,
	"containerDefinitions[].resourceRequirements[].type": `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64,"resourceRequirements":[{"type":"VALUE","value":"1"}]}]}`,
	"containerDefinitions[].ulimits[].name":              `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64,"ulimits":[{"name":"VALUE","softLimit":1,"hardLimit":2}]}]}`,
}
