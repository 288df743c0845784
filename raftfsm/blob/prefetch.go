package blob

// MaxPrefetch bounds the images that a host is told to fetch at a time.
const MaxPrefetch = 16

// Prefetch lists the images that the leader has a host fetch before a task needs them, in place of the list before.
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
