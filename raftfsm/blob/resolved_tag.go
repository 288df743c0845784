package blob

// ResolvedTag is what a tag meant when a host asked its registry last.
type ResolvedTag struct {
	Digest string `json:"digest"` // of a manifest or an index
	At     int64  `json:"at"`     // in seconds since 1970
	// Use says that the cluster lets its hosts use the digest while the registry cannot be reached.
	Use bool `json:"use,omitempty"`
}
