package ecs

import (
	"strings"
	"testing"
)

func TestWhatAServiceCannotBe(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{"serviceName":"known","taskDefinition":"tensorflow-1-gpu","desiredCount":1}`)
	for members, want := range map[string]string{
		`"deploymentController":{"type":"CODE_DEPLOY"}`:                                                                                              "deploymentController CODE_DEPLOY is not supported",
		`"deploymentConfiguration":{"strategy":"LINEAR","canaryConfiguration":{}}`:                                                                   "belongs to the strategy CANARY",
		`"deploymentConfiguration":{"strategy":"LINEAR","linearConfiguration":{"stepPercent":2.9}}`:                                                  "multiple of 0.1 between 3 and 100",
		`"deploymentConfiguration":{"strategy":"CANARY","canaryConfiguration":{"canaryPercent":0.15}}`:                                               "multiple of 0.1 between 0.1 and 100",
		`"deploymentConfiguration":{"strategy":"CANARY","canaryConfiguration":{"canaryBakeTimeInMinutes":1441}}`:                                     "between 0 and 1440",
		`"deploymentConfiguration":{"strategy":"BLUE_GREEN","bakeTimeInMinutes":-1}`:                                                                 "between 0 and 1440",
		`"deploymentConfiguration":{"strategy":"BLUE_GREEN","lifecycleHooks":[{"hookTargetArn":"l"}]}`:                                               "there is no Lambda here",
		`"deploymentConfiguration":{"strategy":"SOME"}`:                                                                                              "must be one of ROLLING",
		`"deploymentConfiguration":{"bakeTimeInMinutes":1}`:                                                                                          "bakeTimeInMinutes",
		`"deploymentConfiguration":{"alarms":{"enable":true,"alarmNames":["a"]}}`:                                                                    "alarms is not supported",
		`"deploymentConfiguration":{"minimumHealthyPercent":100,"maximumPercent":100}`:                                                               "cannot be 100 as this will block deployments",
		`"deploymentConfiguration":{"minimumHealthyPercent":101}`:                                                                                    "between 0 and 100",
		`"deploymentConfiguration":{"maximumPercent":99}`:                                                                                            "between 100 and",
		`"deploymentConfiguration":{"deploymentCircuitBreaker":{"enable":true,"rollback":true,"thresholdConfiguration":{"type":"COUNT","value":0}}}`: "thresholdConfiguration.value must be",
		`"serviceConnectConfiguration":{"enabled":true,"services":[{}]}`:                                                                             "needs the portName",
		`"networkConfiguration":{"awsvpcConfiguration":{"subnets":["s"]}}`:                                                                           "Network Configuration is not valid",
		`"loadBalancers":[{"containerName":"c"}]`:                                                                                                    "The target group ARN \"\" is not valid",
		`"loadBalancers":[{"loadBalancerName":"c"}]`:                                                                                                 "loadBalancerName is not supported",
		`"serviceRegistries":[{"registryArn":"c"}]`:                                                                                                  "serviceRegistries is not supported",
		`"volumeConfigurations":[{"name":"v"}]`:                                                                                                      "volumeConfigurations is not supported",
		`"vpcLatticeConfigurations":[{"roleArn":"v"}]`:                                                                                               "vpcLatticeConfigurations is not supported",
		`"desiredCount":-1`:                                                      "desiredCount must be between",
		`"healthCheckGracePeriodSeconds":-1`:                                     "healthCheckGracePeriodSeconds must be",
		`"propagateTags":"ALL"`:                                                  "propagateTags must be one of",
		`"availabilityZoneRebalancing":"SOME"`:                                   "availabilityZoneRebalancing must be one of",
		`"capacityProviderStrategy":[{"capacityProvider":"night"}]`:              "not associated with the cluster",
		`"placementStrategy":[{"type":"first"}]`:                                 "placementStrategy.type",
		`"placementConstraints":[{"type":"memberOf","expression":"attribute:"}]`: "Invalid expression",
		`"taskDefinition":"nothing"`:                                             "TaskDefinition not found.",
	} {
		create := f.call("CreateService", `{"serviceName":"web"`+with(members, `"taskDefinition":"tensorflow-1-gpu"`, `"desiredCount":1`)+`}`)
		update := f.call("UpdateService", `{"service":"known",`+members+`}`)
		for operation, got := range map[string]reply{"CreateService": create, "UpdateService": update} {
			if got.err == nil || !strings.Contains(got.err.Error(), want) {
				t.Errorf("%s %s: %v", operation, members, got.err)
			}
		}
	}
}

// with is the members, and those of the defaults that they do not name, each behind a comma.
func with(members string, defaults ...string) string {
	all := "," + members
	for _, d := range defaults {
		if name, _, _ := strings.Cut(d, ":"); !strings.HasPrefix(members, name) {
			all += "," + d
		}
	}
	return all
}

func TestWhatANewServiceCannotBe(t *testing.T) {
	f := ready(t)
	for members, want := range map[string]string{
		`"serviceName":"a b"`:                               "serviceName must be",
		`"serviceName":"web"`:                               "desiredCount must be given",
		`"serviceName":"web","launchType":"FARGATE"`:        "launchType FARGATE is not supported",
		`"serviceName":"web","schedulingStrategy":"ALWAYS"`: "schedulingStrategy must be one of",
		`"serviceName":"web","desiredCount":1,"role":"` + strings.Repeat("r", 2049) + `"`:                                    "role must be at most 2048",
		`"serviceName":"web","clientToken":"a b"`:                                                                            "clientToken must be",
		`"serviceName":"web","schedulingStrategy":"DAEMON","desiredCount":1`:                                                 "does not support a desired count",
		`"serviceName":"web","schedulingStrategy":"DAEMON","placementStrategy":[{"type":"random"}]`:                          "does not support the placementStrategy",
		`"serviceName":"web","schedulingStrategy":"DAEMON","placementConstraints":[{"type":"distinctInstance"}]`:             "does not support the distinctInstance",
		`"serviceName":"web","schedulingStrategy":"DAEMON","deploymentConfiguration":{"maximumPercent":200}`:                 "does not support values over 100",
		`"serviceName":"web","desiredCount":1,"launchType":"EC2","capacityProviderStrategy":[{"capacityProvider":"PINION"}]`: "both a launch type and capacity provider strategy",
		`"serviceName":"web","desiredCount":1,"tags":[{"key":"pinion.gang","value":"true"}]`:                                 "is not for services",
		`"serviceName":"web","desiredCount":1,"tags":[{"key":"pinion.rollout","value":"fast"}]`:                              "pinion.rollout",
		`"serviceName":"web","desiredCount":1,"tags":[{"key":"pinion.nonsense","value":"fast"}]`:                             "pinion.nonsense is not known",
		`"serviceName":"web","desiredCount":1,"tags":[{"key":"pinion.priority","value":"101"}]`:                              "pinion.priority",
	} {
		if got := f.call("CreateService", `{"taskDefinition":"tensorflow-1-gpu",`+members+`}`); got.err == nil || !strings.Contains(got.err.Error(), want) {
			t.Errorf("%s: %v", members, got.err)
		}
	}
	f.call("CreateService", `{"cluster":"nope",`+serving+`,"desiredCount":1}`).wantError(t, noCluster, "Cluster not found.")
	f.call("UpdateService", `{"service":"nope","desiredCount":1}`).wantError(t, noService, "Service not found.")
	f.call("DeleteService", `{"service":"nope"}`).wantError(t, noService, "Service not found.")
}
