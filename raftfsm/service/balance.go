package service

import (
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/spec"
)

// Values of Settings.Rebalancing, ECS's.
const (
	Rebalanced    = "ENABLED"
	NotRebalanced = "DISABLED"
)

// SpreadOverZones is the placement strategy that a service which is rebalanced has first.
var SpreadOverZones = spec.PlacementStrategy{Type: "spread", Field: "attribute:" + spec.AttributeZone}

// Balance is the progress of evening out the tasks of a service over availability zones.
type Balance struct {
	On    bool      `json:"on,omitempty"`    // an event has said that tasks are moved
	Stuck bool      `json:"stuck,omitempty"` // an event has said why none is moved, though the zones differ
	Task  string    `json:"task,omitempty"`  // was started to take the place of one in another zone; empty: no task is moved
	Zone  string    `json:"zone,omitempty"`  // that Task is for
	Tried time.Time `json:"tried,omitzero"`  // when a task found no place in its zone, last
}

// Rebalances reports whether the service moves tasks that run so that each availability zone has as many as the others.
func (s *Service) Rebalances() bool {
	return s.Settings.Rebalancing == Rebalanced && s.CannotRebalance() == ""
}

// CannotRebalance names the part of the service that keeps its tasks from being moved, as ECS says it does not support that; empty when nothing does.
func (s *Service) CannotRebalance() string {
	_, most := s.Settings.Deployment.Percents(s.Strategy)
	onZones := func(c spec.PlacementConstraint) bool { return strings.Contains(c.Expression, SpreadOverZones.Field) }
	switch {
	case s.IsExternal():
		return "services with the deployment controller EXTERNAL"
	case s.Strategy == Daemon:
		return "DAEMON services"
	case most <= percent:
		return "maximumPercent <= 100 % as deployment configuration"
	case len(s.Settings.Placement) > 0 && s.Settings.Placement[0] != SpreadOverZones:
		return "a first placement strategy other than spread over " + SpreadOverZones.Field
	case slices.ContainsFunc(s.Settings.Constraints, onZones):
		return "placement constraints on " + SpreadOverZones.Field
	}
	return ""
}
