package schedule

import (
	"slices"
	"strings"

	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

// alternativesOf are the requests for the same tasks of which the first that finds a place is taken, by the alternatives of their GPUs
// (spec.TagGPUAlternatives); the request alone when its tasks have none.
func alternativesOf(r Request) []Request {
	options, _ := spec.ParseSchedulingOptions(r.Run.Tags)
	if len(options.GPUAlternatives) == 0 || r.gpuModel != "" {
		return []Request{r}
	}
	at := r.Definition.GPUContainer()
	if at < 0 { // the api refuses it
		return []Request{r}
	}
	all := make([]Request, 0, len(options.GPUAlternatives))
	for _, alternative := range options.GPUAlternatives {
		one, container := r, r.Definition.Containers[at].Name
		one.gpuModel = alternative.Model
		one.Run.Overrides = r.Run.Overrides.WithGPUs(container, alternative.GPUs)
		one.Definition = spec.Effective(r.Definition, spec.TaskOverride{}.WithGPUs(container, alternative.GPUs))
		all = append(all, one)
	}
	return all
}

// without is the request for its other tasks, when these are placed.
func without(r Request, placed []*spec.Task) Request {
	n := len(placed)
	if n == 0 {
		return r
	}
	r.Run.Count, r.Waiting = max(0, r.Run.Count-n), r.Waiting[min(n, len(r.Waiting)):]
	r.Run.Hosts = slices.Clone(r.Run.Hosts)
	for _, task := range placed {
		if at := slices.Index(r.Run.Hosts, task.HostID); at >= 0 {
			r.Run.Hosts = slices.Delete(r.Run.Hosts, at, at+1)
		}
	}
	if r.Run.ArrayFrom != nil {
		from := *r.Run.ArrayFrom + n
		r.Run.ArrayFrom = &from
	}
	return r
}

// modelConstraint is the constraint on the model of the alternative; none when any GPU will do.
func modelConstraint(r *Request) []spec.PlacementConstraint {
	if r.gpuModel == "" {
		return nil
	}
	return []spec.PlacementConstraint{{Type: spec.MemberOf, Expression: query.GPUModels(r.gpuModel)}}
}

// mergeRefusals combines the refusals of all alternatives of a request: the reason of the first, the details of each.
func mergeRefusals(r Request, refusals []spec.Failure) spec.Failure {
	whole := refusals[0]
	if !slices.ContainsFunc(refusals, func(f spec.Failure) bool { return f.Detail != whole.Detail }) {
		return whole
	}
	options, _ := spec.ParseSchedulingOptions(r.Run.Tags)
	details := make([]string, len(refusals))
	for i, refusal := range refusals {
		details[i] = options.GPUAlternatives[i].String() + ": " + refusal.Detail
	}
	whole.Detail = strings.Join(details, "; ")
	return whole
}

// failuresOf are the failures of the tasks that found no place by any alternative: those of the last one, each with what its host lacks for the others.
func failuresOf(r Request, refused [][]spec.Failure) []spec.Failure {
	last := slices.Clone(refused[len(refused)-1])
	if len(refused) == 1 {
		return last
	}
	byHost := make([]map[string]spec.Failure, len(refused))
	for i, failures := range refused {
		byHost[i] = make(map[string]spec.Failure, len(failures))
		for _, failure := range failures {
			byHost[i][failure.HostID] = failure
		}
	}
	for i, failure := range last {
		every := make([]spec.Failure, len(refused))
		for n := range every {
			other, same := byHost[n][failure.HostID]
			switch {
			case same:
				every[n] = other
			case len(refused[n]) > 0: // a gang, of which one host is said
				every[n] = refused[n][0]
			default:
				every[n] = failure
			}
		}
		last[i] = mergeRefusals(r, every)
	}
	return last
}

// MostGPUs is the number of whole GPUs for which a task counts while it waits: the greatest of its alternatives, or its demand when it has none.
func MostGPUs(tags []spec.Tag, demand spec.Demand) int { return slices.Max(gpuCounts(tags, demand)) }

// LeastGPUs is the number of whole GPUs that a task gets at least: the least of its alternatives, or its demand when it has none.
func LeastGPUs(tags []spec.Tag, demand spec.Demand) int { return slices.Min(gpuCounts(tags, demand)) }

func gpuCounts(tags []spec.Tag, demand spec.Demand) []int {
	options, _ := spec.ParseSchedulingOptions(tags)
	if len(options.GPUAlternatives) == 0 {
		return []int{demand.TotalGPUs()}
	}
	counts := make([]int, len(options.GPUAlternatives))
	for i, alternative := range options.GPUAlternatives {
		counts[i] = alternative.GPUs
	}
	return counts
}

// GPUChoices are the alternatives as spec.TagGPUAlternatives has them; empty when there are none.
func GPUChoices(options spec.SchedulingOptions) string {
	words := make([]string, len(options.GPUAlternatives))
	for i, alternative := range options.GPUAlternatives {
		words[i] = alternative.String()
	}
	return strings.Join(words, "/")
}
