package traffic

import "slices"

// Virtual is the virtual address of a name of Service Connect. Each host has it for itself, so connections to it do not leave the host but for
// their target.
type Virtual struct {
	Name     string   `json:"name"`     // a domain name in small letters
	Number   int      `json:"number"`   // of the address, in the range that each host has for them
	Clusters []string `json:"clusters"` // whose hosts have the address: those of the name's namespace
}

// For is the Routing for the hosts of a cluster: without the names of others.
func (r Routing) For(cluster string) Routing {
	r.Listeners = slices.DeleteFunc(slices.Clone(r.Listeners), func(l Listener) bool {
		return l.Virtual != nil && !slices.Contains(l.Virtual.Clusters, cluster)
	})
	return r
}
