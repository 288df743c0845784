package api

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// fakeQueue is a Queue of a test: it tells what it was asked for.
type fakeQueue struct {
	asked []string
	items []spec.QueueItem
}

func (l *fakeQueue) Queue(_ context.Context, cluster string) ([]spec.QueueItem, error) {
	l.asked = append(l.asked, "queue of "+cluster)
	return l.items, nil
}

func (l *fakeQueue) Explain(_ context.Context, task string) (spec.Explanation, error) {
	l.asked = append(l.asked, "task "+task)
	return spec.Explanation{TaskID: task, Status: spec.Provisioning, Summary: "It waits."}, nil
}

func (l *fakeQueue) ExplainBriefly(ctx context.Context, task string) (spec.Explanation, error) {
	return l.Explain(ctx, task+", briefly")
}

func TestTheQueueIsAskedOfWhoKnowsIt(t *testing.T) {
	b := newFixture(t)
	if got := b.get("/v1/queue"); got.Code != 400 {
		t.Errorf("without a queue: %d %s", got.Code, got.Body)
	}
	l := &fakeQueue{}
	b.config.Queue = l
	if got := b.get("/v1/queue?cluster=lab"); got.Code != 200 || got.Body.String() != "[]" || l.asked[0] != "queue of lab" {
		t.Errorf("%d %q, asked for %q", got.Code, got.Body, l.asked)
	}
	if got := b.get("/v1/tasks/none/explain"); got.Code != 404 || len(l.asked) != 1 {
		t.Errorf("a task that is not there: %d %s", got.Code, got.Body)
	}
}

func TestAnExplanationIsBriefForWhoAsksForThat(t *testing.T) {
	b := ready(t)
	l := &fakeQueue{}
	b.config.Queue = l
	_, task, _ := strings.Cut(b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`).Tasks[0].ARN, ":task/default/")
	for query, want := range map[string]string{"": "task " + task, "?brief=false": "task " + task, "?brief=true": "task " + task + ", briefly"} {
		l.asked = nil
		if got := b.get("/v1/tasks/" + task + "/explain" + query); got.Code != 200 || !slices.Equal(l.asked, []string{want}) {
			t.Errorf("%s: %d %s, asked for %q", query, got.Code, got.Body, l.asked)
		}
	}
	b.get("/v1/tasks/"+task+"/explain?brief=perhaps").wantError(t, 400, invalid, `brief must be true or false, not "perhaps".`)
}
