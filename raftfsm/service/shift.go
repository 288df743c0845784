package service

import (
	"slices"
	"time"
)

// Deployment strategies, ECS's. Those but ROLLING run the tasks of both revisions until the traffic has moved from one to the other.
const (
	Rolling   = "ROLLING"
	BlueGreen = "BLUE_GREEN" // all of the traffic at once
	Linear    = "LINEAR"     // in equal steps
	Canary    = "CANARY"     // a little, then the rest
)

// Steps are the steps by which LINEAR and CANARY move traffic.
type Steps struct {
	PerMille    int `json:"perMille"`    // of the traffic: each step of LINEAR, the first one of CANARY
	BakeMinutes int `json:"bakeMinutes"` // after a step that is not the last
}

// Steps without a user's word, ECS's.
var (
	DefaultLinear = Steps{PerMille: 100, BakeMinutes: 6}
	DefaultCanary = Steps{PerMille: 50, BakeMinutes: 10}
)

// AllTraffic is the whole of the traffic of a service, in thousandths.
const AllTraffic = 1000

// Stage is ECS's lifecycle stage of a service deployment.
type Stage string

// Stages of a deployment that moves traffic, in their order. From SCALE_UP on its tasks run, from TEST_TRAFFIC_SHIFT on they get test traffic.
const (
	StageReconcile       Stage = "RECONCILE_SERVICE"
	StagePreScaleUp      Stage = "PRE_SCALE_UP"
	StageScaleUp         Stage = "SCALE_UP"
	StagePostScaleUp     Stage = "POST_SCALE_UP"
	StageTestTraffic     Stage = "TEST_TRAFFIC_SHIFT"
	StagePostTestTraffic Stage = "POST_TEST_TRAFFIC_SHIFT"
	StagePreProduction   Stage = "PRE_PRODUCTION_TRAFFIC_SHIFT" // before each step of traffic
	StageProduction      Stage = "PRODUCTION_TRAFFIC_SHIFT"
	StagePostProduction  Stage = "POST_PRODUCTION_TRAFFIC_SHIFT"
	StageBake            Stage = "BAKE_TIME"
	StageCleanUp         Stage = "CLEAN_UP" // the traffic has moved for good: the tasks that it came from are stopped
)

// Shift is a move of traffic from one deployment to the PRIMARY one. The tasks of both are kept until it is over. The zero one is none: all of the
// traffic is the PRIMARY deployment's. So it is with a Stage alone, which the first deployment of a service with hooks is at.
type Shift struct {
	From     string    `json:"from,omitempty"`     // Deployment.ID
	Stage    Stage     `json:"stage,omitempty"`    //
	PerMille int       `json:"perMille,omitempty"` // of the production traffic that is the PRIMARY deployment's already
	Since    time.Time `json:"since,omitzero"`     // of Stage and PerMille
}

// IsOn reports whether traffic is moving.
func (s *Shift) IsOn() bool { return s.From != "" }

// PerMilleOf is the part of the production traffic that a deployment has while it is moved, in thousandths.
func (s *Shift) PerMilleOf(d Deployment) int {
	switch {
	case d.Status == Primary:
		return s.PerMille
	case d.ID == s.From:
		return AllTraffic - s.PerMille
	}
	return 0
}

// Tests reports whether the test traffic is the PRIMARY deployment's.
func (s *Shift) Tests() bool {
	return !s.IsOn() || !s.StartsNothing() && s.Stage != StageScaleUp && s.Stage != StagePostScaleUp
}

// IsFirst reports whether the first deployment of the service goes through its stages.
func (s *Shift) IsFirst() bool { return s.From == "" && s.Stage != "" }

// StartsNothing reports whether the PRIMARY deployment is to have no tasks yet.
func (s *Shift) StartsNothing() bool {
	return s.Stage == StageReconcile || s.Stage == StagePreScaleUp
}

// StrategyName is the deployment strategy.
func (c *DeploymentConfiguration) StrategyName() string {
	if c.Strategy == "" {
		return Rolling
	}
	return c.Strategy
}

// Shifts reports whether deployments move traffic.
func (c *DeploymentConfiguration) Shifts() bool { return c.StrategyName() != Rolling }

// NextTraffic is the traffic that a deployment has after one step more, in thousandths.
func (c *DeploymentConfiguration) NextTraffic(has int) int {
	switch {
	case c.StrategyName() == Linear:
		return min(has+c.TrafficSteps().PerMille, AllTraffic)
	case c.StrategyName() == Canary && has == 0:
		return c.TrafficSteps().PerMille
	}
	return AllTraffic
}

// StepBake is the pause after a step of traffic that is not the last.
func (c *DeploymentConfiguration) StepBake() time.Duration {
	return time.Duration(c.TrafficSteps().BakeMinutes) * time.Minute
}

// TrafficSteps are the steps of LINEAR and CANARY, ECS's where the user has said nothing.
func (c *DeploymentConfiguration) TrafficSteps() Steps {
	switch {
	case c.Steps != nil:
		return *c.Steps
	case c.StrategyName() == Linear:
		return DefaultLinear
	}
	return DefaultCanary
}

// BakeTime returns the time for which both revisions run after all of the traffic has moved.
func (c *DeploymentConfiguration) BakeTime() time.Duration {
	if c.BakeMinutes == nil {
		return 0
	}
	return time.Duration(*c.BakeMinutes) * time.Minute
}

// Source is the deployment that the traffic of the next one comes from: that which has it now.
func (s *Service) Source() *Deployment {
	if from := s.Deployment(s.Shift.From); s.Shift.IsOn() && from != nil {
		return from
	}
	return s.Primary()
}

// beginShift begins to move the traffic of a deployment to the PRIMARY one, if the strategy says so. Without one that does, it keeps the tasks of that
// deployment until the hooks before the first new task let the rollout go on. The first deployment has none before it, and waits for the same hooks.
func (s *Service) beginShift(source string, at time.Time) {
	how := &s.Settings.Deployment
	waits := len(how.HooksAt(StageReconcile))+len(how.HooksAt(StagePreScaleUp)) > 0
	switch s.Shift = (Shift{}); {
	case s.Strategy == Daemon:
	case source == "" && len(how.Hooks) > 0, source != "" && (how.Shifts() || waits):
		s.Shift = Shift{From: source, Stage: StageReconcile, Since: at}
	}
}

// shiftBack has the traffic go to the PRIMARY deployment after a rollback: at once while its tasks were kept, and otherwise when they are healthy
// again, from the deployment that has the traffic until then.
func (s *Service) shiftBack(failed string, at time.Time) {
	from := failed
	if s.Shift.IsOn() {
		from = s.Shift.From
	}
	if s.Shift = (Shift{}); from != s.Primary().ID && s.Settings.Deployment.Shifts() {
		s.beginShift(from, at)
	}
}

// Advanced names the groups and rules that move the traffic of a load balancer of a service: ECS's advancedConfiguration.
type Advanced struct {
	Group          string `json:"group,omitempty"`     // loadbalancer.Group.ID of the target group as the user named it; LoadBalancer.Group is it or Alternate
	Alternate      string `json:"alternate,omitempty"` // loadbalancer.Group.ID
	AlternateARN   string `json:"alternateArn,omitempty"`
	Production     string `json:"production,omitempty"` // loadbalancer.Rule.ID
	ProductionRule string `json:"productionRule,omitempty"`
	Test           string `json:"test,omitempty"` // loadbalancer.Rule.ID; empty: there is none
	TestRule       string `json:"testRule,omitempty"`
	RoleARN        string `json:"roleArn,omitempty"` // echoed
}

// GroupARN is the ARN of Group.
func (b LoadBalancer) GroupARN() string {
	if b.Group == b.Advanced.Alternate && b.Group != b.Advanced.Group {
		return b.Advanced.AlternateARN
	}
	return b.ARN
}

// AsRequested is a load balancer as the user asked for it, whichever of its groups the tasks of a revision are registered with.
func (b LoadBalancer) AsRequested() LoadBalancer {
	if b.Advanced.Group != "" {
		b.Group = b.Advanced.Group
	}
	return b
}

// SelectTargetGroups returns load balancers, as they were asked for, of a revision that takes over the traffic of one with others: its tasks are registered with
// the other of their two groups while traffic moves, and with the same one otherwise.
func SelectTargetGroups(all, before []LoadBalancer, shifts bool) []LoadBalancer {
	all = slices.Clone(all)
	for i := range all {
		b := &all[i]
		for _, had := range before {
			if b.Advanced.Group == "" || had.Group != b.Advanced.Group && had.Group != b.Advanced.Alternate {
				continue
			}
			if b.Group = had.Group; shifts {
				b.Group = b.OtherGroup()
			}
			break
		}
	}
	return all
}

// OtherGroup is the one of the two target groups that the tasks of the revision are not registered with.
func (b LoadBalancer) OtherGroup() string {
	if b.Group == b.Advanced.Group {
		return b.Advanced.Alternate
	}
	return b.Advanced.Group
}
