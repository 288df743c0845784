package ecs

import (
	"strings"
	"testing"
)

// Whether commands may be run in a task is said by whoever starts it, and shown as on ECS.
func TestTasksSayWhetherCommandsMayBeRunInThem(t *testing.T) {
	f := newFixture(t)
	f.must(t, "RegisterTaskDefinition", `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64}]}`)
	f.must(t, "CreateService", `{"serviceName":"s","taskDefinition":"f","desiredCount":0,"enableExecuteCommand":true}`)
	shown := func() bool {
		return strings.Contains(f.must(t, "DescribeServices", `{"services":["s"]}`).Body.String(), `"enableExecuteCommand":true`)
	}
	if !shown() {
		t.Error("the service does not say so")
	}
	f.must(t, "UpdateService", `{"service":"s","desiredCount":1}`)
	if !shown() {
		t.Error("an update that does not speak of it changes it")
	}
	f.must(t, "UpdateService", `{"service":"s","enableExecuteCommand":false}`)
	if shown() {
		t.Error("the service still says so")
	}
}
