package autoscaling

import (
	"context"
	"fmt"
	"math"
	"slices"

	"pinion/api/wire"
)

type describeActivitiesInput struct {
	describeInput
	IncludeNotScaledActivities bool `json:"IncludeNotScaledActivities"` // there are none
}

type scalingActivity struct {
	named
	ActivityID    string    `json:"ActivityId"`
	Description   string    `json:"Description"`
	Cause         string    `json:"Cause"`
	StartTime     wire.Time `json:"StartTime"`
	EndTime       wire.Time `json:"EndTime"`
	StatusCode    string    `json:"StatusCode"`
	StatusMessage string    `json:"StatusMessage"`
}

type describeActivitiesOutput struct {
	ScalingActivities []scalingActivity `json:"ScalingActivities"`
	NextToken         string            `json:"NextToken,omitempty"`
}

// describeScalingActivities lists what has changed desired counts, and what failed to, the newest first.
func (r *Request) describeScalingActivities(_ context.Context, in *describeActivitiesInput) (*describeActivitiesOutput, error) {
	targets, err := in.of(r)
	if err != nil {
		return nil, err
	}
	all := []scalingActivity{}
	for _, t := range targets {
		for _, a := range t.Activities {
			at := wire.NewTime(a.At)
			one := scalingActivity{
				named: nameOf(t), ActivityID: a.ID, Description: fmt.Sprintf("Setting desired count to %d.", a.To), Cause: a.Cause, StartTime: at, EndTime: at,
				StatusCode: "Successful", StatusMessage: fmt.Sprintf("Successfully set desired count to %d.", a.To),
			}
			if a.Failed != "" {
				one.Description, one.StatusCode, one.StatusMessage = "Setting the capacities.", "Failed", "Failed to set the capacities: "+a.Failed+"."
			}
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b scalingActivity) int { return b.StartTime.Compare(a.StartTime.Time) })
	page, next, err := in.cut(len(all), func(i int) string { // falls as time goes on
		return fmt.Sprintf("%019d/%s", math.MaxInt64-all[i].StartTime.UnixNano(), all[i].ActivityID)
	})
	if err != nil {
		return nil, err
	}
	return &describeActivitiesOutput{all[page.from:page.to], next}, nil
}

// getPredictiveScalingForecast is refused.
func (r *Request) getPredictiveScalingForecast(context.Context, *resource) (*emptyOutput, error) {
	return nil, errInvalid("GetPredictiveScalingForecast is not supported by Pinion: there are no predictive scaling policies")
}
