package autoscaling

import (
	"context"
	"math"
	"time"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

type targetAction struct {
	MinCapacity *int `json:"MinCapacity,omitempty"`
	MaxCapacity *int `json:"MaxCapacity,omitempty"`
}

type putActionInput struct {
	resource
	ScheduledActionName string        `json:"ScheduledActionName"`
	Schedule            string        `json:"Schedule"`
	Timezone            string        `json:"Timezone"`
	StartTime           *float64      `json:"StartTime"` // seconds since 1970
	EndTime             *float64      `json:"EndTime"`
	ScalableTarget      *targetAction `json:"ScalableTargetAction"`
}

// maxSchedule bounds the text of a schedule.
const maxSchedule = 256

// putScheduledAction makes a scheduled action, or changes what is given of the one of that name; start and end are always replaced.
func (r *Request) putScheduledAction(ctx context.Context, in *putActionInput) (*emptyOutput, error) {
	if err := checkName("ScheduledActionName", in.ScheduledActionName); err != nil {
		return nil, err
	}
	action, err := r.knownAction(in)
	if err != nil {
		return nil, err
	}
	if in.Schedule != "" {
		action.Schedule = in.Schedule
	}
	if in.Timezone != "" {
		action.Timezone = in.Timezone
	}
	if in.ScalableTarget != nil {
		action.Min, action.Max = in.ScalableTarget.MinCapacity, in.ScalableTarget.MaxCapacity
	}
	action.Start, action.End = moment(in.StartTime), moment(in.EndTime)
	if err := checkAction(&action); err != nil {
		return nil, err
	}
	_, err = r.change(ctx, &in.resource, scaling.Change{PutAction: &action})
	return &emptyOutput{}, err
}

// knownAction is the action of that name, or a new one.
func (r *Request) knownAction(in *putActionInput) (scaling.ScheduledAction, error) {
	fresh := scaling.ScheduledAction{ID: httpx.NewUUID(), Name: in.ScheduledActionName, CreatedAt: r.Now()}
	targets, err := r.targets(in.ServiceNamespace, in.ScalableDimension, []string{in.ResourceID})
	if err != nil {
		return fresh, err
	}
	for _, t := range targets {
		if known := t.Action(in.ScheduledActionName); known != nil {
			return *known, nil
		}
	}
	return fresh, nil
}

func checkAction(a *scaling.ScheduledAction) error {
	if len(a.Schedule) > maxSchedule {
		return errInvalid("Schedule can have at most %d characters", maxSchedule)
	}
	if _, err := scaling.ParseSchedule(a.Schedule); err != nil {
		return errInvalid("Schedule %v", err)
	}
	if _, err := time.LoadLocation(a.Timezone); err != nil || a.Timezone == "Local" || len(a.Timezone) > maxName {
		return errInvalid("Timezone must be one of the IANA database, such as Europe/Berlin, not %.99q", a.Timezone)
	}
	if a.Min == nil && a.Max == nil {
		return errInvalid("ScalableTargetAction must have MinCapacity, MaxCapacity or both")
	}
	for _, n := range []*int{a.Min, a.Max} {
		if n != nil && (*n < 0 || *n > service.MaxDesired) {
			return errInvalid("a capacity must be 0 to %d, not %d", service.MaxDesired, *n)
		}
	}
	if a.Min != nil && a.Max != nil && *a.Min > *a.Max {
		return errInvalid("Maximum capacity cannot be less than minimum capacity")
	}
	if !a.Start.IsZero() && !a.End.IsZero() && !a.Start.Before(a.End) {
		return errInvalid("EndTime must be after StartTime")
	}
	return nil
}

// maxSeconds is the end of the year 9999.
const maxSeconds = 253402300799

// moment is a number of seconds since 1970, zero when there is none.
func moment(seconds *float64) time.Time {
	if seconds == nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(math.Round(min(max(*seconds, 0), maxSeconds) * 1000))).UTC()
}

type deleteActionInput struct {
	resource
	ScheduledActionName string `json:"ScheduledActionName"`
}

func (r *Request) deleteScheduledAction(ctx context.Context, in *deleteActionInput) (*emptyOutput, error) {
	if err := checkName("ScheduledActionName", in.ScheduledActionName); err != nil {
		return nil, err
	}
	_, err := r.change(ctx, &in.resource, scaling.Change{DeleteAction: in.ScheduledActionName})
	return &emptyOutput{}, err
}

type describeActionsInput struct {
	describeInput
	ScheduledActionNames []string `json:"ScheduledActionNames"`
}

type scheduledAction struct {
	named
	ScheduledActionName string       `json:"ScheduledActionName"`
	ScheduledActionARN  string       `json:"ScheduledActionARN"`
	Schedule            string       `json:"Schedule"`
	Timezone            string       `json:"Timezone,omitempty"`
	StartTime           wire.Time    `json:"StartTime,omitzero"`
	EndTime             wire.Time    `json:"EndTime,omitzero"`
	ScalableTarget      targetAction `json:"ScalableTargetAction"`
	CreationTime        wire.Time    `json:"CreationTime"`
}

type describeActionsOutput struct {
	ScheduledActions []scheduledAction `json:"ScheduledActions"`
	NextToken        string            `json:"NextToken,omitempty"`
}

func (r *Request) describeScheduledActions(_ context.Context, in *describeActionsInput) (*describeActionsOutput, error) {
	targets, err := in.of(r)
	if err != nil {
		return nil, err
	}
	all := []scheduledAction{}
	for _, t := range targets {
		for i := range t.Actions {
			if a := &t.Actions[i]; wanted(in.ScheduledActionNames, a.Name) {
				all = append(all, scheduledAction{
					named: nameOf(t), ScheduledActionName: a.Name, ScheduledActionARN: r.actionARN(t, a), Schedule: a.Schedule, Timezone: a.Timezone,
					StartTime: wire.NewTime(a.Start), EndTime: wire.NewTime(a.End), ScalableTarget: targetAction{a.Min, a.Max}, CreationTime: wire.NewTime(a.CreatedAt),
				})
			}
		}
	}
	page, next, err := in.cut(len(all), func(i int) string { return all[i].ResourceID + "\x00" + all[i].ScheduledActionName })
	if err != nil {
		return nil, err
	}
	return &describeActionsOutput{all[page.from:page.to], next}, nil
}

func (r *Request) actionARN(t *scaling.Target, a *scaling.ScheduledAction) string {
	return "arn:aws:autoscaling:" + r.Principal.Region + ":" + spec.AccountID + ":scheduledAction:" + a.ID + ":resource/ecs/" + resourceID(t.Cluster, t.Service) + ":scheduledActionName/" + a.Name
}
