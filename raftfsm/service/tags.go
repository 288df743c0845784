package service

import (
	"fmt"
	"time"

	"pinion/raftfsm/spec"
)

// Tags of a service that say how it is run. They are tags so that every client of ECS can say them.
const (
	TagRollout      = "pinion.rollout"       // "stop-first" or "wait": what a rollout does that finds no room
	TagHealthyAfter = "pinion.healthy-after" // "0s" to "30m": a task without a health check is healthy so long after it started
)

// Bounds of TagHealthyAfter.
const (
	DefaultHealthyAfter = 40 * time.Second
	MaxHealthyAfter     = 30 * time.Minute
)

// NoCapacityPolicy says what a rollout does when new tasks do not fit beside the old ones and MinHealthy does not let it stop any.
type NoCapacityPolicy string

// Policies of TagRollout.
const (
	StopFirst NoCapacityPolicy = "stop-first" // it goes a little below MinHealthy
	Wait      NoCapacityPolicy = "wait"       // it waits until there is room
)

// CheckTags says which tag of a service has no meaning, and what it may be.
func CheckTags(tags []spec.Tag) error {
	for _, tag := range tags {
		switch tag.Key {
		case TagRollout:
			if p := NoCapacityPolicy(tag.Value); p != StopFirst && p != Wait {
				return fmt.Errorf("the tag %s is %q: write %q or %q", tag.Key, tag.Value, StopFirst, Wait)
			}
		case TagHealthyAfter:
			if after, err := time.ParseDuration(tag.Value); err != nil || after < 0 || after > MaxHealthyAfter {
				return fmt.Errorf(`the tag %s is %q: write a span of time from 0s to 30m, such as "90s"`, tag.Key, tag.Value)
			}
		}
	}
	return nil
}

// HealthyAfter returns the time after its start from which a task without a health check is healthy.
func (s *Service) HealthyAfter() time.Duration {
	if after, err := time.ParseDuration(s.tag(TagHealthyAfter)); err == nil {
		return min(max(after, 0), MaxHealthyAfter)
	}
	return DefaultHealthyAfter
}

// NoCapacityPolicy is StopFirst when the tag says so, or says nothing and nobody has given a MinimumHealthyPercent.
func (s *Service) NoCapacityPolicy() NoCapacityPolicy {
	switch said := NoCapacityPolicy(s.tag(TagRollout)); {
	case said == StopFirst || said == Wait:
		return said
	case s.Settings.Deployment.MinimumHealthyPercent == nil && s.Settings.Deployment.DrainPerMille == nil:
		return StopFirst
	}
	return Wait
}

func (s *Service) tag(key string) string {
	for _, tag := range s.Tags {
		if tag.Key == key {
			return tag.Value
		}
	}
	return ""
}
