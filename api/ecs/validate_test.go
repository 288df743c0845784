package ecs

import "testing"

// As on ECS, a value that no request can have is reported before a cluster that is not there.
func TestAWrongValueIsReportedBeforeAnUnknownCluster(t *testing.T) {
	b := newFixture(t)
	for operation, c := range map[string]struct{ members, message string }{
		"DescribeTasks":                 {`"tasks":["1"],"include":["TAG"]`, `include must hold only TAGS, not "TAG"`},
		"ListTasks":                     {`"desiredStatus":"ENDED"`, `desiredStatus must be one of RUNNING, PENDING, STOPPED, not "ENDED"`},
		"RunTask":                       {`"taskDefinition":"f","launchType":"LAMBDA"`, `launchType must be one of EC2, FARGATE, EXTERNAL, MANAGED_INSTANCES, not "LAMBDA"`},
		"StartTask":                     {`"taskDefinition":"f","containerInstances":["1"],"propagateTags":"ALL"`, `propagateTags must be one of TASK_DEFINITION, NONE, not "ALL"`},
		"DescribeContainerInstances":    {`"containerInstances":["1"],"include":["HEALTH"]`, `include must hold only TAGS, CONTAINER_INSTANCE_HEALTH, not "HEALTH"`},
		"ListContainerInstances":        {`"status":"AWAY"`, `status must be one of ACTIVE, DRAINING, REGISTERING, DEREGISTERING, REGISTRATION_FAILED, not "AWAY"`},
		"UpdateContainerInstancesState": {`"containerInstances":["1"],"status":"AWAY"`, "Container instance status should be one of [ACTIVE,DRAINING]"},
		"PutAttributes":                 {`"attributes":[{"name":"a","targetId":"1","targetType":"host"}]`, `targetType must be one of container-instance, not "host"`},
		"DeleteAttributes":              {`"attributes":[{"name":"a","targetId":"1","targetType":"host"}]`, `targetType must be one of container-instance, not "host"`},
		"ListAttributes":                {`"targetType":"host"`, `targetType must hold only container-instance, not "host"`},
		"DescribeCapacityProviders":     {`"include":["TAG"]`, `include must hold only TAGS, not "TAG"`},
		"ListServices":                  {`"schedulingStrategy":"ONCE"`, `schedulingStrategy must be one of REPLICA, DAEMON, not "ONCE"`},
		"DescribeServices":              {`"services":["s"],"include":["TAG"]`, `include must hold only TAGS, not "TAG"`},
	} {
		b.call(operation, `{"cluster":"nope",`+c.members+`}`).wantError(t, invalid, c.message)
	}
}
