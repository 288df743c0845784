package loadbalancer

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/traffic"
)

// Rule says what becomes of the requests of a listener that meet its conditions.
type Rule struct {
	ID         string              `json:"id"` // 16 hex digits
	Listener   string              `json:"listener"`
	Priority   int                 `json:"priority,omitempty"` // the lowest that fits counts; 0: the default rule, when none does
	Conditions []traffic.Condition `json:"conditions,omitempty"`
	Action     traffic.Action      `json:"action"`
	Tags       []spec.Tag          `json:"tags,omitempty"`
	CreatedAt  time.Time           `json:"createdAt"`
}

// Indexes of rules.
var (
	RulesByID = table.By(func(r *Rule) string { return r.ID })
	RulesOf   = table.By(func(r *Rule) string { return r.Listener }).ThenNumber(evaluated).Then(func(r *Rule) string { return r.ID })
)

// evaluated orders the rules of a listener.
func evaluated(r *Rule) int64 {
	if r.Default() {
		return MaxPriority + 1
	}
	return int64(r.Priority)
}

// Default reports whether it is the rule for requests that no other one fits.
func (r *Rule) Default() bool { return r.Priority == 0 }

// FindRule returns nil when the id is unknown.
func FindRule(r table.Reader, id string) *Rule { return RulesByID.Get(r, sortkey.Key{First: id}) }

// Rules lists the rules of a listener by priority, the default one last.
func Rules(r table.Reader, listener string) []*Rule { return RulesOf.List(r, listener) }

// CreateRule records a rule of a listener of HTTP or HTTPS. spec.ErrNotFound for the listener, ErrNoGroup, ErrMisfit, ErrPriorityTaken,
// spec.ErrLimit. Answer: *Rule.
type CreateRule struct{ Rule Rule }

// Apply carries the command out.
func (c CreateRule) Apply(tx command.Transaction) (any, error) {
	rule := &c.Rule
	l := FindListener(tx, rule.Listener)
	switch {
	case l == nil:
		return nil, fmt.Errorf("listener %s: %w", rule.Listener, spec.ErrNotFound)
	case FindRule(tx, rule.ID) != nil:
		return nil, fmt.Errorf("rule %s: %w", rule.ID, spec.ErrInUse)
	case !l.Protocol.IsHTTP():
		return nil, fmt.Errorf("a rule %w a listener of %s, which has the default one alone", ErrMisfit, l.Protocol)
	case len(Rules(tx, l.ID)) > MaxRules:
		return nil, fmt.Errorf("listener %s: %w: it may have %d rules beside the default one", l.ID, spec.ErrLimit, MaxRules)
	}
	if err := checkRule(tx, l, rule); err != nil {
		return nil, err
	}
	tx.Put(rule)
	return rule, nil
}

// UpdateRules changes rules all together. Answer: []*Rule; the errors are those of CreateRule, and ErrDefaultRule.
type UpdateRules struct{ Changes []RuleChange }

// RuleChange is a change of a rule: members that are 0 or nil stay.
type RuleChange struct {
	ID         string
	Priority   int
	Conditions []traffic.Condition
	Action     *traffic.Action
}

// Apply carries the command out.
func (c UpdateRules) Apply(tx command.Transaction) (any, error) {
	var changed []*Rule
	for _, change := range c.Changes {
		known := FindRule(tx, change.ID)
		if known == nil {
			return nil, fmt.Errorf("rule %s: %w", change.ID, spec.ErrNotFound)
		}
		if known.Default() {
			return nil, fmt.Errorf("rule %s: %w", change.ID, ErrDefaultRule)
		}
		rule := *known
		if change.Priority != 0 {
			rule.Priority = change.Priority
		}
		if change.Conditions != nil {
			rule.Conditions = change.Conditions
		}
		if change.Action != nil {
			rule.Action = *change.Action
		}
		tx.Put(&rule)
		changed = append(changed, &rule)
	}
	for _, rule := range changed { // now that each has its priority
		if err := checkRule(tx, FindListener(tx, rule.Listener), rule); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// checkRule refuses a priority that another rule has, and an action that cannot be.
func checkRule(tx command.Transaction, l *Listener, rule *Rule) error {
	if rule.Priority < 1 || rule.Priority > MaxPriority {
		return fmt.Errorf("priority %d: %w: priorities are 1 to %d", rule.Priority, ErrMisfit, MaxPriority)
	}
	for _, other := range Rules(tx, l.ID) {
		if other.ID != rule.ID && other.Priority == rule.Priority {
			return fmt.Errorf("priority %d: %w", rule.Priority, ErrPriorityTaken)
		}
	}
	return checkAction(tx, l.Protocol, &rule.Action)
}

// checkAction refuses an action that forwards to a group that is not there or speaks another protocol, and one that a listener of connections
// cannot take.
func checkAction(tx command.Transaction, p traffic.Protocol, a *traffic.Action) error {
	if !p.IsHTTP() && len(a.Forward) == 0 {
		return fmt.Errorf("an action that does not forward: it %w a listener of %s", ErrMisfit, p)
	}
	for _, forward := range a.Forward {
		g := FindGroup(tx, forward.Group)
		if g == nil {
			return fmt.Errorf("%w: %s", ErrNoGroup, forward.Group)
		}
		if g.Protocol.IsHTTP() != p.IsHTTP() {
			return fmt.Errorf("target group %s of %s: it %w a listener of %s", g.Name, g.Protocol, ErrMisfit, p)
		}
	}
	return nil
}

// names reports whether an action forwards to the group.
func names(a *traffic.Action, group string) bool {
	return slices.ContainsFunc(a.Forward, func(w traffic.WeightedGroup) bool { return w.Group == group })
}
