package schedule

import (
	"encoding/binary"
	"slices"

	"pinion/raftfsm/query"
	"pinion/raftfsm/service"
	"pinion/server/schedule/pack"
)

// equivalenceClass identifies requests that every host evaluates to the same result.
type equivalenceClass struct {
	fingerprint   string
	fragmentation *pack.FragmentationScorer // nil for tasks without GPUs
}

// isCacheable reports whether a host's evaluation depends only on the equivalence class and the free resources, not on which
// tasks run there.
func (a *evaluation) isCacheable() bool {
	return !a.distinct && len(a.strategy) == 0 && !slices.ContainsFunc(a.constraints, (*query.Expr).ReadsTasks) &&
		!slices.ContainsFunc(a.gpuConstraints.expressions, (*query.Expr).ReadsTasks)
}

func (a *evaluation) class() equivalenceClass {
	c := equivalenceClass{fingerprint: a.fingerprint()}
	if a.wantsGPUs {
		c.fragmentation = a.fragmentation
	}
	return c
}

// fingerprint encodes everything about a cacheable request that the filters and the cost read.
func (a *evaluation) fingerprint() string {
	if a.fingerprintText == "" {
		a.fingerprintText = a.encodeFingerprint()
	}
	return a.fingerprintText
}

func (a *evaluation) encodeFingerprint() string {
	d := &a.demand
	text := binary.AppendVarint(make([]byte, 0, 256), d.CPU)
	text = binary.AppendVarint(text, d.MemoryMiB)
	for _, list := range [][]int{d.Ports, d.UDPPorts, d.GPUs} {
		text = binary.AppendVarint(text, int64(len(list)))
		for _, n := range list {
			text = binary.AppendVarint(text, int64(n))
		}
	}
	for i := range a.Definition.Containers {
		if share := a.Definition.Containers[i].ShareOf(0); share != nil {
			text = binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(text, int64(i)), share.MemoryMiB), share.ComputePercent)
		}
	}
	text = binary.AppendVarint(text, -1) // end of the shares: no container has the index
	add := func(s string) { text = append(binary.AppendVarint(text, int64(len(s))), s...) }
	add(a.isolation.Key(a.Run.ByAdmin))
	if isOfDaemon(a.group) {
		add(service.DaemonGroupPrefix)
	}
	for _, required := range a.attributes {
		add(required.Name)
		add(required.Value)
	}
	add("") // end of the attributes: no attribute has an empty name
	for _, all := range [][]*query.Expr{a.constraints, a.gpuConstraints.expressions} {
		text = binary.AppendVarint(text, int64(len(all)))
		for _, expression := range all {
			add(expression.String())
		}
	}
	for _, digests := range a.images {
		text = binary.AppendVarint(text, int64(len(digests)))
		for _, digest := range digests {
			add(digest)
		}
	}
	return string(text)
}
