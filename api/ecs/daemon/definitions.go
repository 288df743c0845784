package daemon

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/taskdef"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// The operations on one daemon task definition have no NotFound type.
var errNoDefinition = wire.Errorf(wire.Client, "Unable to describe daemon task definition.")

// RegisterDefinition records a daemon task definition. All that is wrong with one is a ClientException, as of a task definition.
func RegisterDefinition(ctx context.Context, r *call.Request, in *types.RegisterDaemonTaskDefinitionInput) (*types.RegisterDaemonTaskDefinitionOutput, error) {
	definition, err := taskdef.ParseDaemon(in)
	if err != nil {
		return nil, call.WithType(wire.Client, err)
	}
	if err := call.PassRoles(r, definition); err != nil {
		return nil, err
	}
	definition.RegisteredAt, definition.RegisteredBy = r.Now(), r.Principal
	stored, err := call.Apply[*spec.TaskDefinition](ctx, r, raftfsm.RegisterDefinition{Definition: *definition, Clusters: r.KeyClusters.Set()})
	if err != nil {
		return nil, err
	}
	return &types.RegisterDaemonTaskDefinitionOutput{DaemonTaskDefinitionARN: r.Render().DefinitionARN(stored.Name())}, nil
}

// findDefinition finds a daemon task definition by its family, of which it is the latest ACTIVE one, family:revision, or ARN.
func findDefinition(r *call.Request, member, given string) (*spec.TaskDefinition, error) {
	if given == "" {
		return nil, field.Errorf(member, "%s must name a daemon task definition.", member)
	}
	parsed, err := arn.Parse(arn.DaemonDefinition, given)
	if err != nil {
		return nil, err
	}
	if found := r.View.Definition(parsed.Name); found != nil {
		return found, nil
	}
	return nil, errNoDefinition
}

// activeDefinition finds the definition that a daemon is to run, which the caller has to be allowed to: CheckRun.
func activeDefinition(r *call.Request, given string) (*spec.TaskDefinition, error) {
	const member = "daemonTaskDefinitionArn"
	found, err := findDefinition(r, member, given)
	if err != nil {
		return nil, err
	}
	if found.Status != spec.DefinitionActive {
		return nil, field.Errorf(member, "The daemon task definition %s is not ACTIVE.", given)
	}
	return found, call.CheckRun(r, found)
}

// DescribeDefinition shows a daemon task definition.
func DescribeDefinition(_ context.Context, r *call.Request, in *types.DescribeDaemonTaskDefinitionInput) (*types.DescribeDaemonTaskDefinitionOutput, error) {
	found, err := findDefinition(r, "daemonTaskDefinition", in.DaemonTaskDefinition)
	if err != nil {
		return nil, err
	}
	return &types.DescribeDaemonTaskDefinitionOutput{DaemonTaskDefinition: r.Render().DaemonDefinition(found)}, nil
}

// DeleteDefinition gives up an ACTIVE daemon task definition. Daemons that have it keep it: it is described as DELETE_IN_PROGRESS until none does.
func DeleteDefinition(ctx context.Context, r *call.Request, in *types.DeleteDaemonTaskDefinitionInput) (*types.DeleteDaemonTaskDefinitionOutput, error) {
	const member = "daemonTaskDefinition"
	found, err := findDefinition(r, member, in.DaemonTaskDefinition)
	if err != nil {
		return nil, err
	}
	switch parsed, _ := arn.Parse(arn.DaemonDefinition, in.DaemonTaskDefinition); { // it was found
	case parsed.Name != found.Name():
		return nil, field.Errorf(member, "Revision is missing: name family:revision.")
	case found.Status != spec.DefinitionActive:
		return nil, field.Errorf(member, "The daemon task definition %s is not ACTIVE.", in.DaemonTaskDefinition)
	}
	if _, err := r.Store.Propose(ctx, raftfsm.DeleteDefinitions{Names: []string{found.Name()}, At: r.Now()}); err != nil {
		return nil, err
	}
	return &types.DeleteDaemonTaskDefinitionOutput{DaemonTaskDefinitionARN: r.Render().DefinitionARN(found.Name())}, nil
}

// ListDefinitions lists the daemon task definitions that the key may use.
func ListDefinitions(_ context.Context, r *call.Request, in *types.ListDaemonTaskDefinitionsInput) (*types.ListDaemonTaskDefinitionsOutput, error) {
	err := cmp.Or(field.OneOf("status", in.Status, types.DaemonDefinitionStatuses...), field.OneOf("revision", in.Revision, types.DaemonRevisionFilters...),
		field.OneOf("sort", in.Sort, types.SortOrders...))
	if err != nil {
		return nil, err
	}
	descending := in.Sort == "DESC"
	var found []*spec.TaskDefinition
	for d := range r.View.DefinitionsFrom(statusOf(in), spec.DaemonPrefix+in.FamilyPrefix, 0, false) {
		if !strings.HasPrefix(d.Family, spec.DaemonPrefix+in.FamilyPrefix) {
			break
		}
		if (in.Family == "" || d.Family == spec.DaemonPrefix+in.Family) && (in.Revision == "" || isLast(r, in, d)) && r.KeyClusters.MayUse(r.View, d) {
			found = append(found, d)
		}
	}
	if descending {
		slices.Reverse(found)
	}
	page, next, err := paging.Cut(in.Paging, found, descending, func(d *spec.TaskDefinition) string { return fmt.Sprintf("%s\x00%010d", d.Family, d.Revision) })
	if err != nil {
		return nil, err
	}
	out := &types.ListDaemonTaskDefinitionsOutput{DaemonTaskDefinitions: []types.DaemonTaskDefinitionSummary{}, NextToken: next}
	for _, d := range page {
		out.DaemonTaskDefinitions = append(out.DaemonTaskDefinitions, r.Render().DaemonDefinitionSummary(d))
	}
	return out, nil
}

// statusOf is the status of those that are listed, empty for all.
func statusOf(in *types.ListDaemonTaskDefinitionsInput) spec.DefinitionStatus {
	switch in.Status {
	case "":
		return spec.DefinitionActive
	case "ALL":
		return ""
	}
	return spec.DefinitionStatus(in.Status)
}

// isLast reports whether a definition is the last of its family, of those with the status.
func isLast(r *call.Request, in *types.ListDaemonTaskDefinitionsInput, d *spec.TaskDefinition) bool {
	for last := range r.View.DefinitionsFrom(statusOf(in), d.Family, math.MaxInt, true) {
		return last.Revision == d.Revision
	}
	return false
}
