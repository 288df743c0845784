package api

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

// largeHistory is a history of n tasks with some 20 kB of tags each.
func largeHistory(n int) *fakeEnded {
	past := &fakeEnded{}
	for i := range n {
		t := ended.Task{Outcome: ended.Succeeded, Task: spec.Task{ID: fmt.Sprintf("%032x", i+1), Cluster: "default", Definition: "train:1", LastStatus: spec.Stopped, CreatedAt: epoch}}
		for k := range 50 {
			t.Task.Tags = append(t.Task.Tags, spec.Tag{Key: fmt.Sprintf("%0128d", k), Value: strings.Repeat("v", 256)})
		}
		past.tasks = append(past.tasks, t)
	}
	return past
}

// A client that asks and does not read holds its answers in the memory of the host. There is a bound to that, beyond which answers are
// refused that are large; what is small is answered.
func TestLargeAnswersThatAreNotReadAreBounded(t *testing.T) {
	b, server := newLimitedServer(t, 100, 1)
	b.config.Ended = largeHistory(20)
	server.Config.Handler = NewHandler(b.config)
	answers := &b.config.Shared.limits.Answers
	for range 2 { // more than the kernel takes for each
		conn := dial(t, server, strings.Repeat("GET /v1/history HTTP/1.1\r\nHost: x\r\n\r\n", 200))
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
	wait(t, "a large answer is refused", func() bool {
		if held := answers.Held(); held > answers.Size {
			t.Fatalf("%d bytes are held, of %d", held, answers.Size)
		}
		got := send(t, "GET", server.URL+"/v1/history", "")
		return got.Code == http.StatusServiceUnavailable && strings.Contains(got.Body.String(), "not read")
	})
	if got := send(t, "POST", server.URL+"/v1/ListTasks", "{}"); got.Code != http.StatusOK {
		t.Errorf("a small answer: %d %s", got.Code, got.Body)
	}
	server.CloseClientConnections()
	wait(t, "all is given back", func() bool {
		return answers.Held() == 0 && send(t, "GET", server.URL+"/v1/history", "").Code == http.StatusOK
	})
}

// blockingEnded is a history that answers when the test lets it.
type blockingEnded struct {
	*fakeEnded
	begun, free chan struct{}
}

func (e blockingEnded) Find(q ended.Query) (ended.Page, error) {
	e.begun <- struct{}{}
	<-e.free
	return e.fakeEnded.Find(q)
}

// A list may be as long as the state is large, so few are put together at once.
func TestFewListsArePutTogetherAtOnce(t *testing.T) {
	b := newFixture(t)
	b.config.Shared = limited(100, 1)
	b.config.Shared.limits.Lists.Size = 1
	slow := blockingEnded{largeHistory(1), make(chan struct{}), make(chan struct{})}
	b.config.Ended = slow
	answer := make(chan reply)
	go func() { answer <- b.get("/v1/history") }()
	<-slow.begun
	for _, path := range []string{
		"/v1/history", "/v1/usage", "/v1/queue", "/v1/hosts", "/v1/gpus", "/v1/tasks", "/v1/tasks/x/explain", "/metrics", "/metrics/pool", "/v1/hosts/" + hostID + "/metrics",
	} {
		if got := b.get(path); got.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
	for _, operation := range []string{
		"ListContainerInstances", "ListSecrets", "BatchGetSecretValue", "DescribeParameters", "GetParametersByPath", "ListServices", "ListServicesByNamespace",
		"ListTaskDefinitions", "ListTaskDefinitionFamilies", "ListDaemons", "ListDaemonTaskDefinitions",
		"DescribeServices", "DescribeServiceDeployments", "DescribeTaskSets", "DescribeDaemonDeployments",
	} {
		if got := b.serve(httptest.NewRequest("POST", "/v1/"+operation, strings.NewReader("{}"))); got.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d", operation, got.Code)
		}
	}
	if got := b.rest("ListAttributes", `{"targetType":"container-instance"}`); got.Code != http.StatusServiceUnavailable {
		t.Errorf("ListAttributes: %d", got.Code)
	}
	if got := b.serve(balancing("DescribeTargetHealth")); got.Code != http.StatusServiceUnavailable {
		t.Errorf("DescribeTargetHealth: %d", got.Code)
	}
	close(slow.free)
	if got := <-answer; got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := b.get("/v1/usage"); got.Code != http.StatusOK {
		t.Errorf("afterwards: %d %s", got.Code, got.Body)
	}
}

// What a client gets wrong is said to it; no fault of the server, and no work.
func TestQuestionsForTheHistoryAreChecked(t *testing.T) {
	b := newFixture(t)
	past := largeHistory(1)
	b.config.Ended = past
	if got := b.get("/v1/usage?by=" + strings.Repeat("day,team,", 1000)); got.Code != http.StatusBadRequest {
		t.Errorf("a field named many times: %d", got.Code)
	}
	past.err = ended.ErrPage
	if got := b.get("/v1/history?page=aaaa"); got.Code != http.StatusBadRequest {
		t.Errorf("a token of no page: %d", got.Code)
	}
}
