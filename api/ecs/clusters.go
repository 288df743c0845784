package ecs

import (
	"context"
	"slices"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
)

func describeClusters(_ context.Context, r *Request, in *types.DescribeClustersInput) (*types.DescribeClustersOutput, error) {
	if len(in.Clusters) > paging.Max {
		return nil, field.Errorf("clusters", "clusters can have at most %d items.", paging.Max)
	}
	if len(in.Clusters) == 0 {
		in.Clusters = []string{spec.DefaultCluster}
	}
	out := &types.DescribeClustersOutput{Clusters: []types.Cluster{}, Failures: []types.Failure{}}
	for _, given := range in.Clusters {
		parsed, err := arn.Parse(arn.Cluster, given)
		if err != nil {
			return nil, err
		}
		if known := r.View.Cluster(parsed.Name); known != nil {
			out.Clusters = append(out.Clusters, r.Render().Cluster(known, in.Include))
			continue
		}
		out.Failures = append(out.Failures, types.Failure{ARN: r.Render().ClusterARN(parsed.Name), Reason: spec.ReasonMissing})
	}
	return out, nil
}

func listClusters(_ context.Context, r *Request, in *types.ListClustersInput) (*types.ListClustersOutput, error) {
	active := slices.DeleteFunc(slices.Clone(r.View.Clusters()), func(cluster *spec.Cluster) bool {
		return cluster.Status != spec.ClusterActive || !r.KeyClusters.Covers(cluster.Name)
	})
	page, next, err := paging.Cut(in.Paging, active, false, func(cluster *spec.Cluster) string { return cluster.Name })
	if err != nil {
		return nil, err
	}
	out := &types.ListClustersOutput{ClusterARNs: []string{}, NextToken: next}
	for _, cluster := range page {
		out.ClusterARNs = append(out.ClusterARNs, r.Render().ClusterARN(cluster.Name))
	}
	return out, nil
}
