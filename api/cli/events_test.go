package cli

import (
	"net/http"
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

// eventFrame is an event of a stream with only what the command line reads.
func eventFrame(id, kind, detail string) string {
	return "id: " + id + "\nevent: " + kind + "\ndata: {\"time\":\"2025-06-01T11:59:00Z\",\"detail\":" + detail + "}\n\n"
}

// eventStream answers with events; broken ends in the middle of one.
func eventStream(events ...string) func(http.ResponseWriter) any {
	return func(w http.ResponseWriter) any {
		w.Header().Set("Content-Type", "text/event-stream")
		return strings.Join(events, "")
	}
}

var testEvents = []string{
	"id: 1-2147483647\n\n",
	eventFrame("2-0", "cluster", `{"clusterName":"lab","status":"ACTIVE"}`),
	eventFrame("3-0", "host", `{"ec2InstanceId":"gpu-1","status":"ACTIVE","agentConnected":true}`),
	eventFrame("3-1", "gpu", `{"uuid":"GPU-1","host":"gpu-1","status":"ACTIVE","health":"UNHEALTHY","problem":"Xid 79"}`),
	eventFrame("4-0", "task", `{"taskArn":"arn:aws:ecs:us-east-1:123456789012:task/default/3f2a0000000000000000000000000001","taskDefinitionArn":"x/trainer:3",
		"createdAt":"2025-06-01T11:58:00.000Z","lastStatus":"STOPPED","stopCode":"EssentialContainerExited","containers":[{"exitCode":137,"reason":"OutOfMemoryError"}]}`),
	eventFrame("5-0", "host", `{"ec2InstanceId":"gpu-1","status":"DRAINING","agentConnected":false}`),
	eventFrame("6-0", "gpu", `{"uuid":"GPU-1","host":"gpu-1","status":"INACTIVE","health":"HEALTHY"}`),
	eventFrame("7-0", "host", `{"ec2InstanceId":"gpu-1","status":"ACTIVE","agentConnected":false,"change":"DISCONNECTED","lastHeardAt":"2025-06-01T11:58:56.000Z","runningTasksCount":3}`),
	eventFrame("8-0", "host", `{"ec2InstanceId":"gpu-1","status":"ACTIVE","agentConnected":true,"change":"BACK"}`),
	eventFrame("9-0", "leader", `{"host":"gpu-2","hostId":"h2","before":"gpu-1","beforeId":"h1","term":7}`),
	eventFrame("10-0", "leader", `{"host":"gpu-2","hostId":"h2","term":1}`),
	eventFrame("6-1", "host", `{"ec2InstanceId":"gpu-1","status":"INACTIVE"}`),
}

func compactLines(events []string) []string {
	lines := make([]string, len(events))
	for i, event := range events {
		lines[i] = strings.ReplaceAll(event, ",\n\t\t", ",")
	}
	return lines
}

func TestEventsAreToldInOneLineEach(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/events?cluster=lab&follow=false&since=1&type=task%2Chost"] = eventStream(compactLines(testEvents)...)
	if wrong := pinion(t, h, "events", "--since", "10m"); wrong.code != exit.Usage {
		t.Errorf("a time is no place in the events: %+v", wrong)
	}
	got := pinion(t, h, "events", "--utc", "--cluster", "lab", "--type", "task,host", "--since", "1")
	checkEqual(t, "stdout", got.out, `
2025-06-01 11:59:00Z  cluster  lab ACTIVE
2025-06-01 11:59:00Z  host     gpu-1 ACTIVE
2025-06-01 11:59:00Z  gpu      GPU-1 on gpu-1 UNHEALTHY Xid 79
2025-06-01 11:59:00Z  task     3f2a00000000 trainer:3 STOPPED 137 OutOfMemoryError
2025-06-01 11:59:00Z  host     gpu-1 DRAINING disconnected
2025-06-01 11:59:00Z  gpu      GPU-1 on gpu-1 gone
2025-06-01 11:59:00Z  host     gpu-1 DISCONNECTED, last heard 4s before, running tasks: 3
2025-06-01 11:59:00Z  host     gpu-1 BACK
2025-06-01 11:59:00Z  leader   gpu-2 LEADER of term 7, before: gpu-1
2025-06-01 11:59:00Z  leader   gpu-2 LEADER of term 1
2025-06-01 11:59:00Z  host     gpu-1 INACTIVE
`[1:])
	h.documents["/v1/events?follow=false"] = eventStream(testEvents[1])
	checkEqual(t, "json", pinion(t, h, "events", "--utc", "-o", "json").out, `{"time":"2025-06-01T11:59:00Z","detail":{"clusterName":"lab","status":"ACTIVE"}}`+"\n")
}

// A stream that ends goes on after the last event, until the host says that this is impossible.
func TestFollowedEventsGoOnWhereTheyBrokeOff(t *testing.T) {
	h := newFakeHost(t)
	cluster := func(id, name string) string {
		return eventFrame(id, "cluster", `{"clusterName":"`+name+`","status":"ACTIVE"}`)
	}
	h.documents["/v1/events"] = eventStream("id: 1-0\n\n", cluster("2-0", "a"), "id: 3-0\nevent: clus")
	h.documents["/v1/events?since=2-0"] = eventStream("id: 2-0\n\n", cluster("3-0", "b"), "id: 9-0\n\n", "event: end\ndata: {\"__type\":\"ServerException\",\"message\":\"This host stops.\"}\n\n")
	h.documents["/v1/events?since=9-0"] = eventStream("event: end\ndata: {\"__type\":\"GoneException\",\"message\":\"It is forgotten.\"}\n\n")
	got := pinion(t, h, "events", "--utc", "-f")
	checkEqual(t, "stdout", got.out, "2025-06-01 11:59:00Z  cluster  a ACTIVE\n2025-06-01 11:59:00Z  cluster  b ACTIVE\n")
	checkEqual(t, "stderr", got.err, "pinion: It is forgotten.\n")
	if got.code != 1 {
		t.Errorf("exit code %d", got.code)
	}
}
