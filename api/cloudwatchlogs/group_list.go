package cloudwatchlogs

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm/loggroup"
)

type describeLogGroupsInput struct {
	paging
	LogGroupNamePrefix    string           `json:"logGroupNamePrefix"`
	LogGroupNamePattern   string           `json:"logGroupNamePattern"`
	LogGroupIdentifiers   []string         `json:"logGroupIdentifiers"`
	LogGroupClass         string           `json:"logGroupClass"`
	AccountIdentifiers    wire.Unsupported `json:"accountIdentifiers" why:"there is one account"`
	IncludeLinkedAccounts wire.Unsupported `json:"includeLinkedAccounts" why:"there is one account"`
}

type describeLogGroupsOutput struct {
	LogGroups []logGroup `json:"logGroups"`
	NextToken string     `json:"nextToken,omitempty"`
}

// logGroup is a group on the wire. Sizes are not counted: storedBytes is 0.
type logGroup struct {
	ARN               string `json:"arn"`
	CreationTime      int64  `json:"creationTime"` // ms, when it was created, or the first definition that names it was registered
	LogGroupARN       string `json:"logGroupArn"`
	LogGroupClass     string `json:"logGroupClass"`
	LogGroupName      string `json:"logGroupName"`
	MetricFilterCount int    `json:"metricFilterCount"`
	RetentionInDays   int    `json:"retentionInDays,omitempty"`
	StoredBytes       int64  `json:"storedBytes"`
}

// standard is the only class that groups have here.
const standard = "STANDARD"

func (c *Request) describeLogGroups(_ context.Context, in *describeLogGroupsInput) (*describeLogGroupsOutput, error) {
	if in.LogGroupNamePrefix != "" && in.LogGroupNamePattern != "" {
		return nil, wire.Errorf(wire.InvalidParameter, "LogGroup name prefix and LogGroup name pattern are mutually exclusive parameters.")
	}
	wanted, err := parseGroups(in.LogGroupIdentifiers)
	if err != nil {
		return nil, err
	}
	created := c.groupCreationTimes()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(created)) {
		if strings.HasPrefix(name, in.LogGroupNamePrefix) && strings.Contains(name, in.LogGroupNamePattern) &&
			(len(wanted) == 0 || slices.Contains(wanted, name)) && (in.LogGroupClass == "" || in.LogGroupClass == standard) {
			names = append(names, name)
		}
	}
	page, next, err := paginate(in.paging, names, false, func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	out := &describeLogGroupsOutput{LogGroups: []logGroup{}, NextToken: next}
	for _, name := range page {
		arn := c.groupARN(name)
		group := logGroup{ARN: arn + ":*", LogGroupARN: arn, LogGroupName: name, LogGroupClass: standard, CreationTime: created[name].UnixMilli()}
		if known := c.created(name); known != nil {
			group.RetentionInDays = known.RetentionDays
		}
		out.LogGroups = append(out.LogGroups, group)
	}
	return out, nil
}

// groupCreationTimes are the names of all groups, with the moment when each was created, or else the first task definition that names it
// was registered.
func (c *Request) groupCreationTimes() map[string]time.Time {
	created := map[string]time.Time{}
	for _, d := range c.definitions() {
		for i := range d.Containers {
			group := logSource(d, &d.Containers[i]).group
			if first, known := created[group]; !known || d.RegisteredAt.Before(first) {
				created[group] = d.RegisteredAt
			}
		}
	}
	if c.KeyClusters == "" {
		for _, group := range loggroup.All(c.View) {
			created[group.Name] = group.CreatedAt
		}
	}
	return created
}

// parseGroups are the names of groups that are given by name or ARN.
func parseGroups(identifiers []string) ([]string, error) {
	var names []string
	for _, identifier := range identifiers {
		name, err := parseGroup("", identifier)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}
