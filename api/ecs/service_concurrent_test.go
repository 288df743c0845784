package ecs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/ecs/account"
	"pinion/api/ecs/call"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// overtaken is a store in which other updates of the service come before each of the first updates of a call.
type overtaken struct {
	*fixture
	first []string // bodies of UpdateService
}

// Propose carries out the next of the others first.
func (o *overtaken) Propose(ctx context.Context, c raftfsm.Command) (any, error) {
	if len(o.first) > 0 {
		next := o.first[0]
		o.first = o.first[1:]
		if got := o.call("UpdateService", next); got.err != nil {
			return nil, got.err
		}
	}
	return o.fixture.Propose(ctx, c)
}

func (o *overtaken) update(t *testing.T, body string) error {
	t.Helper()
	r := &Request{Region: "us-east-1", Principal: account.RootARN, View: o.state.View(), Store: o, Now: func() time.Time { return epoch }}
	bound, err := Operations["UpdateService"].Prepare(r, []byte(body), wire.DecodeJSON)
	if err != nil {
		return err
	}
	_, err = bound.Run(t.Context())
	return err
}

// Updates at the same time change what each of them names, and undo nothing of one another: settings, load balancers and the task definition.
func TestUpdatesAtTheSameTimeKeepWhatTheOthersChanged(t *testing.T) {
	f := balanced(t)
	f.must(t, "CreateService", `{"serviceName":"web","taskDefinition":"served","desiredCount":1}`)
	f.must(t, "RegisterTaskDefinition", `{"family":"served","containerDefinitions":[{"name":"main","image":"web:2","memory":64,"portMappings":[{"containerPort":80}]}]}`)
	o := &overtaken{f, []string{
		`{"service":"web","deploymentConfiguration":{"minimumHealthyPercent":50}}`,
		`{"service":"web",` + balancedBy("open", "main", "80") + `}`,
	}}
	if err := o.update(t, `{"service":"web","taskDefinition":"served:2","healthCheckGracePeriodSeconds":30,"deploymentConfiguration":{"maximumPercent":150}}`); err != nil {
		t.Fatal(err)
	}
	s := f.state.View().Service(spec.DefaultCluster, "web")
	healthy, most := s.Settings.Deployment.Percents(s.Strategy)
	revision := f.state.View().ServiceRevision(s.Primary().ID)
	if healthy != 50 || most != 150 || *s.Settings.GraceSeconds != 30 || revision.Definition != "served:2" || !revision.Registers("open") {
		t.Errorf("%+v %+v", s.Settings, revision)
	}
}

// An update that is overtaken again and again is refused, and says that it can be tried again.
func TestAnUpdateDoesNotTryForEver(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":1}`)
	one, two := `{"service":"web","healthCheckGracePeriodSeconds":1}`, `{"service":"web","healthCheckGracePeriodSeconds":2}`
	o := &overtaken{f, slices.Repeat([]string{one, two}, call.MaxAttempts)}
	if err := o.update(t, `{"service":"web","enableECSManagedTags":true}`); !errors.Is(err, spec.ErrBusy) {
		t.Errorf("%v", err)
	}
}

// What becomes invalid by the other update is refused as it would be had that come first.
func TestAnUpdateIsCheckedWithWhatTheOthersChanged(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":1,"deploymentConfiguration":{"minimumHealthyPercent":50}}`)
	o := &overtaken{f, []string{`{"service":"web","deploymentConfiguration":{"minimumHealthyPercent":100}}`}}
	err := o.update(t, `{"service":"web","availabilityZoneRebalancing":"DISABLED","deploymentConfiguration":{"maximumPercent":100}}`)
	if err == nil || !strings.Contains(err.Error(), "will block deployments") {
		t.Errorf("%v", err)
	}
}
