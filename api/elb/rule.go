package elb

import (
	"context"

	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
)

// ruleView is a rule as clients see it.
type ruleView struct {
	RuleArn    string
	Priority   string
	Conditions []conditionView `xml:"Conditions>member"`
	Actions    []actionView    `xml:"Actions>member"`
	IsDefault  bool
}

func (r *Request) showRule(rule *loadbalancer.Rule) ruleView {
	v := ruleView{RuleArn: r.ruleARN(rule), Priority: "default", IsDefault: rule.Default(), Actions: r.showActions(&rule.Action)}
	if !rule.Default() {
		v.Priority = itoa(rule.Priority)
	}
	for i := range rule.Conditions {
		v.Conditions = append(v.Conditions, showCondition(&rule.Conditions[i]))
	}
	return v
}

type rulesView struct {
	Rules      []ruleView `xml:"Rules>member"`
	NextMarker string     `xml:",omitempty"`
}

func (r *Request) showRules(all ...*loadbalancer.Rule) (v rulesView) {
	for _, rule := range all {
		v.Rules = append(v.Rules, r.showRule(rule))
	}
	return v
}

func describeRules(_ context.Context, r *Request, in form) (any, error) {
	var all []*loadbalancer.Rule
	switch {
	case in.has("RuleArns") == in.has("ListenerArn"):
		return nil, invalid("You must specify either rule ARNs or a listener ARN")
	case in.has("ListenerArn"):
		l, err := r.findListener(in)
		if err != nil {
			return nil, err
		}
		all = loadbalancer.Rules(r.View, l.ID)
	}
	found, err := named(in, "RuleArns", "", loadbalancer.ResourceRule, func(id string) *loadbalancer.Rule { return loadbalancer.FindRule(r.View, id) }, nil, all,
		func(string) error { return errNoRule })
	if err != nil {
		return nil, err
	}
	some, next, err := page(in, found)
	v := r.showRules(some...)
	v.NextMarker = next
	return v, err
}

func createRule(ctx context.Context, r *Request, in form) (any, error) {
	l, err := r.findListener(in)
	if err != nil {
		return nil, err
	}
	rule := loadbalancer.Rule{ID: newID(), Listener: l.ID, CreatedAt: r.Now()}
	if rule.Priority, err = in.number("Priority", 1, loadbalancer.MaxPriority, 0); err == nil && rule.Priority == 0 {
		err = invalid("Priority must be given: 1 to %d.", loadbalancer.MaxPriority)
	}
	if err != nil {
		return nil, err
	}
	if rule.Conditions, err = conditionsIn(in); err == nil && len(rule.Conditions) == 0 {
		err = invalid("A rule needs a condition.")
	}
	if err != nil {
		return nil, err
	}
	action, err := r.actionIn(in, "Actions")
	if err != nil {
		return nil, err
	}
	rule.Action = *action
	if rule.Tags, err = tagsIn(in); err != nil {
		return nil, err
	}
	if err := in.unsupported("Transforms", "requests are passed on as they are."); err != nil {
		return nil, err
	}
	_, err = change[any](ctx, r, loadbalancer.CreateRule{Rule: rule})
	if err = as(err, spec.ErrLimit, "TooManyRules"); err != nil {
		return nil, err
	}
	return r.showRules(&rule), nil
}

func modifyRule(ctx context.Context, r *Request, in form) (any, error) {
	rule, err := r.findRule(in)
	if err != nil {
		return nil, err
	}
	update := loadbalancer.RuleChange{ID: rule.ID}
	if update.Conditions, err = conditionsIn(in); err != nil {
		return nil, err
	}
	if in.has("Actions") {
		if update.Action, err = r.actionIn(in, "Actions"); err != nil {
			return nil, err
		}
	}
	if err := in.unsupported("Transforms", "requests are passed on as they are."); err != nil {
		return nil, err
	}
	return r.updateRules(ctx, update)
}

func setRulePriorities(ctx context.Context, r *Request, in form) (any, error) {
	given, err := in.structures("RulePriorities")
	if err != nil {
		return nil, err
	}
	var changes []loadbalancer.RuleChange
	for _, one := range given {
		rule, err := r.findRule(one)
		if err != nil {
			return nil, err
		}
		priority, err := one.number("Priority", 1, loadbalancer.MaxPriority, 0)
		if err != nil {
			return nil, err
		}
		changes = append(changes, loadbalancer.RuleChange{ID: rule.ID, Priority: priority})
	}
	if len(changes) == 0 {
		return nil, invalid("RulePriorities must be given.")
	}
	return r.updateRules(ctx, changes...)
}

func (r *Request) updateRules(ctx context.Context, changes ...loadbalancer.RuleChange) (any, error) {
	updated, err := change[[]*loadbalancer.Rule](ctx, r, loadbalancer.UpdateRules{Changes: changes})
	if err != nil {
		return nil, as(err, spec.ErrNotFound, errNoRule.Type)
	}
	return r.showRules(updated...), nil
}

func deleteRule(ctx context.Context, r *Request, in form) (any, error) {
	rule, err := r.findRule(in)
	if err != nil {
		return nil, err
	}
	_, err = change[any](ctx, r, loadbalancer.Delete{Rule: rule.ID})
	return empty{}, err
}
