package conformance

import (
	"fmt"
	"slices"
)

const (
	// server has a port, so that a target group can have its tasks.
	server = `{"name":"main","image":"pinion/self","memory":32,"portMappings":[{"containerPort":80}]}`
	// between divides the traffic of the rule between the two target groups.
	between = `"loadBalancers":[{"targetGroupArn":"$blue","containerName":"main","containerPort":80,
		"advancedConfiguration":{"alternateTargetGroupArn":"$green","productionListenerRule":"$listener","roleArn":"arn:aws:iam::123456789012:role/ecs"}}]`
)

// trafficScenario is a service whose rollouts move traffic: by each strategy one rollout begins, rests where the strategy has it rest for an hour, and
// is rolled back. It has no tasks: what is asked and answered is the same.
var trafficScenario = slices.Concat(
	[]step{
		{operation: "RegisterTaskDefinition", body: `{"family":"$me-server","containerDefinitions":[` + server + `]}`, saves: "server=taskDefinition.taskDefinitionArn"},
		{operation: "CreateService", body: `{"serviceName":"$me-traffic","taskDefinition":"$server","desiredCount":0,"deploymentConfiguration":{"strategy":"BLUE_GREEN"},
			"loadBalancers":[{"targetGroupArn":"$blue","containerName":"main","containerPort":80}]}`, wantError: invalidParameter},
		{operation: "CreateService", body: `{"serviceName":"$me-traffic","taskDefinition":"$server","desiredCount":0,` + between + `}`, saves: "traffic=service.serviceArn"},
		{operation: "ListServiceDeployments", body: `{"service":"$traffic"}`, until: "serviceDeployments.0.status=SUCCESSFUL"},
	},
	movedBy(`"strategy":"BLUE_GREEN","bakeTimeInMinutes":60`, "BAKE_TIME"),
	movedBy(`"strategy":"CANARY","canaryConfiguration":{"canaryPercent":10,"canaryBakeTimeInMinutes":60}`, "PRODUCTION_TRAFFIC_SHIFT"),
	movedBy(`"strategy":"LINEAR","linearConfiguration":{"stepPercent":25,"stepBakeTimeInMinutes":60}`, "PRODUCTION_TRAFFIC_SHIFT"),
	pausedAt("POST_TEST_TRAFFIC_SHIFT", "CONTINUE"), pausedAt("PRE_SCALE_UP", "ROLLBACK"),
	[]step{
		{operation: "UpdateService", body: `{"service":"$traffic","deploymentConfiguration":{"strategy":"CANARY","canaryConfiguration":{"canaryPercent":101}}}`, wantError: invalidParameter},
		{operation: "UpdateService", body: `{"service":"$traffic","deploymentConfiguration":{"lifecycleHooks":[{"targetType":"AWS_LAMBDA","lifecycleStages":["PRE_SCALE_UP"]}]}}`, wantError: invalidParameter},
		{operation: "DeleteService", body: `{"service":"$traffic","force":true}`},
		{operation: "DeregisterTaskDefinition", body: `{"taskDefinition":"$server"}`},
	},
)

// pausedAt are the steps of a rollout that waits at a stage and is answered.
func pausedAt(stage, action string) []step {
	steps := movedBy(`"strategy":"BLUE_GREEN","bakeTimeInMinutes":60,"lifecycleHooks":[{"targetType":"PAUSE","lifecycleStages":["`+stage+`"],
		"timeoutConfiguration":{"timeoutInMinutes":60,"action":"ROLLBACK"}}]`, stage)
	const paused = "serviceDeployments.0.lifecycleHookDetails.0."
	describe := step{operation: "DescribeServiceDeployments", body: `{"serviceDeploymentArns":["$move"]}`}
	waits, hook, rests := describe, describe, describe
	waits.until, hook.saves, rests.until = paused+"status=AWAITING_ACTION", "hook="+paused+"hookId", "serviceDeployments.0.lifecycleStage=BAKE_TIME"
	answered := []step{
		waits, hook,
		{operation: "ContinueServiceDeployment", body: `{"serviceDeploymentArn":"$move","hookId":"$hook-not"}`, wantError: invalidParameter},
		{operation: "ContinueServiceDeployment", body: `{"serviceDeploymentArn":"$move-not","hookId":"$hook"}`, wantError: "ServiceDeploymentNotFoundException"},
		{operation: "ContinueServiceDeployment", body: `{"serviceDeploymentArn":"$move","hookId":"$hook","action":"` + action + `"}`},
	}
	if action == "ROLLBACK" {
		return slices.Concat(steps[:len(steps)-2], answered, steps[len(steps)-1:])
	}
	return slices.Concat(steps[:len(steps)-2], answered, []step{rests}, steps[len(steps)-2:])
}

// movedBy are the steps of a rollout that rests at a stage.
func movedBy(configuration, rests string) []step {
	return []step{
		{operation: "UpdateService", body: fmt.Sprintf(`{"service":"$traffic","forceNewDeployment":true,"deploymentConfiguration":{%s}}`, configuration)},
		{operation: "ListServiceDeployments", body: `{"service":"$traffic","status":["IN_PROGRESS"]}`, saves: "move=serviceDeployments.0.serviceDeploymentArn"},
		{operation: "DescribeServiceDeployments", body: `{"serviceDeploymentArns":["$move"]}`, until: "serviceDeployments.0.lifecycleStage=" + rests},
		{operation: "StopServiceDeployment", body: `{"serviceDeploymentArn":"$move","stopType":"ROLLBACK"}`},
		{operation: "DescribeServiceDeployments", body: `{"serviceDeploymentArns":["$move"]}`, until: "serviceDeployments.0.status=ROLLBACK_SUCCESSFUL"},
	}
}
