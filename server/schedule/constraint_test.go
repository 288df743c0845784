package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

// with gives a host an attribute.
func with(name, value string) func(*spec.Host) {
	return func(h *spec.Host) { h.Attributes[name] = value }
}

// running gives the host a task of each group.
func running(h Host, groups ...string) Host {
	h.Tasks = func() (tasks []*spec.Task) {
		for _, group := range groups {
			tasks = append(tasks, &spec.Task{Group: group, DesiredStatus: spec.Running, LastStatus: spec.Running})
		}
		return tasks
	}
	return h
}

// limited adds constraints to a request; an expression is memberOf, "" distinctInstance.
func limited(r Request, expressions ...string) Request {
	for _, e := range expressions {
		c := spec.PlacementConstraint{Type: spec.MemberOf, Expression: e}
		if e == "" {
			c.Type = spec.DistinctInstance
		}
		r.Run.Constraints = append(r.Run.Constraints, c)
	}
	return r
}

func inGroup(r Request, group string) Request {
	r.Run.Group = group
	return r
}

func TestConstraints(t *testing.T) {
	p2, g5 := with("ecs.instance-type", "p2.xlarge"), with("ecs.instance-type", "g5.xlarge")
	ofDefinition := limited(request(2, 1), "attribute:ecs.instance-type exists")
	ofDefinition.Definition.PlacementConstraints = []spec.PlacementConstraint{{Type: "memberOf", Expression: "attribute:ecs.instance-type == g5.xlarge"}}
	cases := []struct {
		name     string
		hosts    []Host
		request  Request
		places   []string
		failures []string
	}{
		{"only a host that is so labelled", []Host{host("a", 1), host("b", 1, g5), host("c", 1, p2)},
			limited(request(1, 1), "attribute:ecs.instance-type == p2.xlarge"), []string{"c"}, nil},
		{"else each host says that it is none", []Host{host("a", 1), host("b", 1, g5)}, limited(request(1, 1), "attribute:ecs.instance-type == p2.xlarge"),
			nil, []string{"a MemberOf placement constraint unsatisfied.", "b MemberOf placement constraint unsatisfied."}},
		{"resources come first", []Host{host("a", 0), host("b", 1)}, limited(request(1, 1), "attribute:rack == 7"),
			nil, []string{"a RESOURCE:GPU", "b MemberOf placement constraint unsatisfied."}},
		{"those of the definition and of the call", []Host{host("a", 2, p2), host("b", 1, g5)}, ofDefinition,
			[]string{"b"}, []string{"a MemberOf placement constraint unsatisfied.", "b RESOURCE:GPU"}},
		{"GPUs are attributes", []Host{host("a", 1), host("b", 4)}, limited(request(1, 1), "attribute:pinion.gpu.count >= 4"), []string{"b"}, nil},
		{"near a group", []Host{host("a", 4), running(host("b", 8), "db")}, limited(request(2, 1), "task:group == db"), []string{"b", "b"}, nil},
		{"away from a group", []Host{running(host("a", 1), "db"), host("b", 4)}, limited(request(1, 1), "not(task:group == db)"), []string{"b"}, nil},
		{"a group sees its tasks of the same call", []Host{host("a", 4), host("b", 4)}, limited(inGroup(request(3, 1), "g"), "not(task:group == g)"),
			[]string{"a", "b"}, []string{"a MemberOf placement constraint unsatisfied.", "b MemberOf placement constraint unsatisfied."}},
		{"each on a host of its own", []Host{host("a", 4), host("b", 4)}, limited(request(3, 1), ""),
			[]string{"a", "b"}, []string{"a DistinctInstance placement constraint unsatisfied.", "b DistinctInstance placement constraint unsatisfied."}},
		{"also beside those that run", []Host{running(host("a", 4), "family:work"), running(host("b", 4), "family:other")}, limited(request(1, 1), ""), []string{"b"}, nil},
		{"connected and fresh", []Host{host("a", 1)}, limited(request(1, 1), "agentConnected == true and runningTasksCount == 0"), []string{"a"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := plan(c.hosts, c.request)
			wantPlaces(t, got, c.places...)
			if all := reasons(got); !slices.Equal(all, c.failures) && len(all)+len(c.failures) > 0 {
				t.Errorf("failures %v", all)
			}
		})
	}
}

func TestTheNextRequestSeesTheTasksOfTheOneBefore(t *testing.T) {
	hosts := []Host{host("a", 4), running(host("b", 8), "other")}
	web := inGroup(request(1, 1), "web")
	got := PlanOn(hosts, []Request{web, limited(request(1, 1), "task:group == web"), limited(request(1, 1), "task:group != web")})
	for i, want := range []string{"a", "a", "b"} {
		wantPlaces(t, got[i], want)
	}
}

func TestWhatNobodyCanReadIsAnError(t *testing.T) {
	for want, change := range map[string]func(*spec.RunRequest){
		"column 3": func(r *spec.RunRequest) {
			r.Constraints = []spec.PlacementConstraint{{Type: "memberOf", Expression: "a ="}}
		},
		"nearby": func(r *spec.RunRequest) { r.Constraints = []spec.PlacementConstraint{{Type: "nearby"}} },
		"binpack": func(r *spec.RunRequest) {
			r.Strategy = []spec.PlacementStrategy{{Type: "binpack", Field: "disk"}}
		},
		"spread": func(r *spec.RunRequest) { r.Strategy = []spec.PlacementStrategy{{Type: "spread"}} },
	} {
		r := request(1, 1)
		change(&r.Run)
		if got := plan([]Host{host("a", 1)}, r); got.Err == nil || len(got.Tasks) > 0 || (!strings.Contains(fmt.Sprint(got.Err), want) && want != "column 3") {
			t.Errorf("%s: %+v", want, got)
		}
	}
}

func TestAConstraintIsParsedOnceForAllEvaluations(t *testing.T) {
	r := limited(request(1, 1), "attribute:stack =~ 'x{900}|dev'")
	first, again := newEvaluation(r), newEvaluation(r)
	if first.parse(nil) != nil || again.parse(nil) != nil || first.constraints[0] != again.constraints[0] {
		t.Error("two evaluations of one request parse its constraint each")
	}
}

// A definition of an earlier version may have it, which knew no bound.
func TestAConstraintThatCostsTooMuchCannotBeParsed(t *testing.T) {
	decision := plan([]Host{host("a", 1)}, limited(request(1, 1), "attribute:stack =~ '(a|b|cd){999}'"))
	if _, is := errors.AsType[*query.Error](decision.Err); !is {
		t.Errorf("%+v", decision)
	}
}
