package blob

// MaxPrefetch is how many images a host is told to fetch at a time.
const MaxPrefetch = 16

// Prefetch is what the leader tells a host to fetch before a task needs it, in place of what it told before.
type Prefetch struct {
	Images []string `json:"images"` // references, at most MaxPrefetch
}

// Refs are the references that a host may be told: what is too long or too many is left out.
func (p Prefetch) Refs() (refs []string) {
	for _, ref := range p.Images[:min(len(p.Images), MaxPrefetch)] {
		if ref != "" && len(ref) <= maxName {
			refs = append(refs, ref)
		}
	}
	return refs
}
