package proxy

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"pinion/raftfsm/traffic"
)

// table has the compiled rules of a listener. It does not change.
type table struct {
	config       traffic.Listener
	idleTimeout  time.Duration
	certificates *certificates // nil without TLS
	rules        []rule        // the last one always holds
	proto, port  []string      // X-Forwarded-Proto and X-Forwarded-Port
}

type rule struct {
	conditions []condition
	action     action
}

// action is one of the three: groups, redirect or fixed.
type action struct {
	groups   []*group
	weights  []int
	total    int
	redirect *traffic.Redirect
	fixed    *traffic.FixedResponse
}

func newTable(config traffic.Listener, groups map[string]*group, of Config) (*table, error) {
	t := &table{config: config, idleTimeout: config.IdleTimeout, proto: []string{strings.ToLower(string(config.Protocol))}, port: []string{strconv.Itoa(config.Port)}}
	if t.idleTimeout == 0 {
		t.idleTimeout = traffic.DefaultTCPIdleTimeout
		if config.Protocol.IsHTTP() {
			t.idleTimeout = traffic.DefaultIdleTimeout
		}
	}
	if len(config.Rules) == 0 || len(config.Rules[len(config.Rules)-1].Conditions) > 0 {
		return nil, fmt.Errorf("listener %s has no default rule: its last rule must be without conditions", config.ID)
	}
	for _, r := range config.Rules {
		compiled, err := newRule(r, groups)
		if err != nil {
			return nil, fmt.Errorf("rule %s of listener %s: %w", r.ID, config.ID, err)
		}
		t.rules = append(t.rules, compiled)
	}
	if !config.Protocol.EndsTLS() {
		return t, nil
	}
	var err error
	t.certificates, err = loadCertificates(of, config.Certificates)
	return t, err
}

// isOf reports whether the table was made of that config and those groups.
func (t *table) isOf(config traffic.Listener, groups map[string]*group) bool {
	for _, r := range t.rules {
		for _, g := range r.action.groups {
			if groups[g.id] != g {
				return false
			}
		}
	}
	return reflect.DeepEqual(t.config, config)
}

func newRule(r traffic.Rule, groups map[string]*group) (rule, error) {
	compiled := rule{action: action{redirect: r.Action.Redirect, fixed: r.Action.FixedResponse}}
	for _, c := range r.Conditions {
		condition, err := newCondition(c)
		if err != nil {
			return rule{}, err
		}
		compiled.conditions = append(compiled.conditions, condition)
	}
	for _, w := range r.Action.Forward {
		g := groups[w.Group]
		if g == nil {
			return rule{}, fmt.Errorf("there is no target group %s: add it to the routing", w.Group)
		}
		if weight := min(w.Weight, traffic.MaxWeight); weight > 0 {
			compiled.action.groups = append(compiled.action.groups, g)
			compiled.action.weights = append(compiled.action.weights, weight)
			compiled.action.total += weight
		}
	}
	return compiled, nil
}

// actionFor is the action of the first rule that holds.
func (t *table) actionFor(r *http.Request) *action {
	request := &asked{Request: r}
	for i := range t.rules {
		if t.rules[i].holds(request) {
			return &t.rules[i].action
		}
	}
	return &action{}
}

func (r *rule) holds(request *asked) bool {
	for _, holds := range r.conditions {
		if !holds(request) {
			return false
		}
	}
	return true
}

// group is one of the groups, each as often as its weight says; nil when none has a weight.
func (a *action) group() *group {
	switch len(a.groups) {
	case 0:
		return nil
	case 1:
		return a.groups[0]
	}
	n := rand.IntN(a.total)
	for i, weight := range a.weights {
		if n -= weight; n < 0 {
			return a.groups[i]
		}
	}
	return a.groups[0]
}
