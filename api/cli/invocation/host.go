package invocation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"pinion/api/cli/format"
	"pinion/api/client"
)

// FindHost finds a host by its name, its id or the beginning of its id.
func (inv *Invocation) FindHost(ctx context.Context, given string) (client.Host, error) {
	hosts, err := inv.Client.Hosts(ctx)
	if err != nil {
		return client.Host{}, err
	}
	for _, names := range []func(client.Host) bool{
		func(h client.Host) bool { return h.ID == given },
		func(h client.Host) bool { return h.Name == given },
		func(h client.Host) bool { return strings.HasPrefix(h.ID, strings.ToLower(given)) },
	} {
		var found []client.Host
		for _, h := range hosts {
			if names(h) {
				found = append(found, h)
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			found[0].Name = format.Plain(found[0].Name) // the host's own word
			return found[0], nil
		}
		return client.Host{}, ambiguousHostError(given, found)
	}
	return client.Host{}, fmt.Errorf("no host has the name %q, and no id begins with it; `pinion hosts` lists them", given)
}

// ambiguousHostError lists the hosts that match a name or the beginning of an id.
func ambiguousHostError(given string, found []client.Host) error {
	ids := format.List(idsOf(found))
	if found[0].Name == given {
		return fmt.Errorf("%s have the name %q (%s); use the id of one of them, or its first digits", format.Plural(len(found), "host"), given, ids)
	}
	return fmt.Errorf("%q is the beginning of %s (%s); give more digits", given, format.Plural(len(found), "host id"), ids)
}

func idsOf(hosts []client.Host) []string {
	ids := make([]string, len(hosts))
	for i, h := range hosts {
		ids[i] = h.ID
	}
	return ids
}

// HostNames maps the ids of all hosts to the names that lists show.
func (inv *Invocation) HostNames(ctx context.Context) (map[string]string, error) {
	hosts, err := inv.Client.Hosts(ctx)
	return NamesOf(hosts), err
}

// NamesOf maps the ids of hosts to the names that lists show.
func NamesOf(hosts []client.Host) map[string]string {
	names := map[string]string{}
	for _, h := range hosts {
		names[h.ID] = h.Name
	}
	return Disambiguate(names)
}

// Disambiguate adds the first digits of the id to names that several hosts have, as hosts on one machine do.
func Disambiguate(names map[string]string) map[string]string {
	count := map[string]int{}
	for _, name := range names {
		count[name]++
	}
	for id, name := range names {
		if count[name] > 1 {
			names[id] = fmt.Sprintf("%s (%.8s)", name, id)
		}
	}
	return names
}

// GPUText names the GPUs of a task for people: how many of which model, or how much memory of a shared one, and their ids as far as they tell
// them apart, such as "2 x H100 80GB HBM3 (GPU-04866c28, GPU-053d32a5)", "10 GiB of H100 80GB HBM3 (GPU-04866c28)". JSON has the ids.
func GPUText(hosts []client.Host, task client.Task) string {
	ids := slices.Compact(task.GPUs()) // containers of a task share the same GPU
	var models, short []string
	for _, h := range hosts {
		for _, d := range h.GPUs.Devices {
			if model := format.GPUModel(d.Model, d.Profile(), h.GPUs.Simulated); d.Model != "" && slices.Contains(ids, d.UUID) && !slices.Contains(models, model) {
				models = append(models, model)
			}
		}
	}
	for _, id := range ids {
		short = append(short, format.GPUID(id))
	}
	what := strings.TrimSpace(fmt.Sprintf("%d x %s", len(ids), strings.Join(models, " and ")))
	shared := task.GPUMemory()
	switch {
	case shared > 0:
		what = format.MiB(shared) + " of " + cmp.Or(strings.Join(models, " and "), "a GPU")
	case len(models) == 0:
		what = format.Plural(len(ids), "GPU")
	}
	return fmt.Sprintf("%s (%s)", what, strings.Join(short, ", "))
}

// GPUHosts maps the ids of the hosts that have the GPUs to the names that lists show.
func GPUHosts(gpus []client.GPU) map[string]string {
	names := map[string]string{}
	for _, g := range gpus {
		names[g.HostID] = g.Host
	}
	return Disambiguate(names)
}
