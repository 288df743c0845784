package main

import "maps"

// The decisions about daemons and their task definitions.

func init() {
	maps.Copy(inputs, daemonInputs)
	maps.Copy(outputs, daemonOutputs)
}

// What CreateDaemon and UpdateDaemon have in common. Whether a switch is given matters.
var daemonTypes = map[string]string{"critical": "*bool", "enableECSManagedTags": "*bool", "enableExecuteCommand": "*bool"}

// Why answers about daemons leave members out.
const (
	nothingDrains  = "no host is drained for a daemon: its task alone is replaced"
	deletesAtOnce  = "a daemon is deleted without a deployment"
	shownByDaemon  = "DescribeDaemon shows it"
	noLogDirectory = "the logs of tasks are not a directory that others can mount: read them with GetLogEvents or pinion logs"
)

// daemonInputs: what RegisterTaskDefinition refuses in a container is read as it comes, and refused by the same code.
var daemonInputs = map[string]overlay{
	"CreateDaemonRequest":           {Types: daemonTypes},
	"UpdateDaemonRequest":           {Types: daemonTypes},
	"DaemonDeploymentConfiguration": {Types: map[string]string{"drainPercent": "*float64"}},
	"ListDaemonDeploymentsRequest":  {Types: map[string]string{"createdAt": "any"}},
	"DaemonContainerDefinition": {Types: map[string]string{
		"environmentFiles": "[]envfile.File", "firelensConfiguration": "*firelens.Configuration", "repositoryCredentials": "*valuefrom.RepositoryCredentials", "secrets": "[]valuefrom.Secret",
		"essential": "*bool", "interactive": "*bool", "privileged": "*bool", "pseudoTerminal": "*bool", "readonlyRootFilesystem": "*bool",
		"dependsOn": "[]spec.ContainerDependency", "environment": "[]spec.KeyValue", "mountPoints": "[]spec.MountPoint", "systemControls": "[]spec.SystemControl",
		"ulimits": "[]spec.Ulimit", "healthCheck": "*HealthCheckInput", "logConfiguration": "*logdriver.Configuration", "restartPolicy": "*ContainerRestartPolicyInput",
	}},
	"DaemonLinuxParameters": {Types: map[string]string{
		"capabilities": "*spec.Capabilities", "devices": "[]linux.Device", "initProcessEnabled": "*bool", "tmpfs": "[]spec.Tmpfs",
	}},
	"DaemonVolume": {Types: map[string]string{"host": "*spec.HostVolume"}, Refused: map[string]string{"logDriverVolumeConfiguration": noLogDirectory}},
}

var daemonOutputs = map[string]overlay{
	"DeleteDaemonResponse": {LeftOut: map[string]string{deletesAtOnce: "deploymentArn"}},
	"DaemonDetail":         {Optional: "deploymentArn"},
	"DaemonDeployment": {
		Optional: "statusReason targetDaemonRevision circuitBreaker rollback deploymentConfiguration", LeftOut: map[string]string{inputRefused: "alarms"},
	},
	"DaemonDeploymentSummary":       {Optional: "statusReason"},
	"DaemonDeploymentConfiguration": {Types: map[string]string{"drainPercent": "float64"}, LeftOut: map[string]string{inputRefused: "alarms"}},
	"DaemonDeploymentRevisionDetail": {LeftOut: map[string]string{
		nothingDrains: "totalDrainingInstanceCount", shownByDaemon: "totalWithoutDaemonInstanceCount",
	}},
	"DaemonDeploymentCapacityProvider": {LeftOut: map[string]string{nothingDrains: "drainingInstanceCount", shownByDaemon: "withoutDaemonInstanceCount"}},
	"DaemonContainerImage":             {Optional: "imageDigest"},
	"DaemonTaskDefinition":             {Optional: "taskRoleArn executionRoleArn cpu memory registeredBy"},
	"DaemonTaskDefinitionSummary":      {Optional: "registeredBy"},
	"DaemonContainerDefinition": {
		Optional: "user workingDirectory linuxParameters",
		Types: map[string]string{
			"cpu": "int64", "memory": "int64,omitempty", "memoryReservation": "int64,omitempty", "essential": "*bool",
			"entryPoint": "[]string,omitempty", "command": "[]string,omitempty", "startTimeout": "*int,omitempty", "stopTimeout": "*int,omitempty",
			"interactive": "*bool,omitempty", "privileged": "*bool,omitempty", "pseudoTerminal": "*bool,omitempty", "readonlyRootFilesystem": "*bool,omitempty",
			"dependsOn": "[]spec.ContainerDependency,omitempty", "environment": "[]spec.KeyValue", "mountPoints": "[]spec.MountPoint",
			"secrets": "[]valuefrom.Secret,omitempty", "environmentFiles": "[]envfile.File,omitempty", "repositoryCredentials": "*valuefrom.RepositoryCredentials,omitempty", "systemControls": "[]spec.SystemControl,omitempty", "ulimits": "[]spec.Ulimit,omitempty", "healthCheck": "*spec.HealthCheck,omitempty",
			"firelensConfiguration": "*firelens.Configuration,omitempty", "logConfiguration": "*logdriver.Configuration,omitempty", "restartPolicy": "*spec.RestartPolicy,omitempty",
		},
	},
	"DaemonLinuxParameters": {
		Types: map[string]string{"capabilities": "*spec.Capabilities,omitempty", "devices": "[]linux.Device,omitempty", "initProcessEnabled": "*bool,omitempty", "tmpfs": "[]spec.Tmpfs,omitempty"},
	},
	"DaemonVolume": {Types: map[string]string{"host": "*spec.HostVolume,omitempty"}, LeftOut: map[string]string{inputRefused: "logDriverVolumeConfiguration"}},
}
