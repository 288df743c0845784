// Package blob is about blobs, which are what images consist of (OCI distribution specification), on their way between the hosts of a
// pool: the pieces that they are cut into, and what hosts and the leader's tracker say to one another about them.
package blob

// Bounds of one call.
const (
	// MaxWants bounds the blobs that a host asks for in one call.
	MaxWants = 32
	// MaxHeld bounds the blobs that a host says it has.
	MaxHeld = 20000
	// MaxPeers bounds the hosts that the tracker names for one blob.
	MaxPeers = 16
	// MaxAvoid bounds the hosts that a host names for one blob because they did not give it.
	MaxAvoid = 256
	// MaxElements bounds the elements of all lists and objects of a Request as JSON: of itself, of an image four, and of a blob that it asks for
	// those that it avoids and ten.
	MaxElements = 10 + MaxHeld + 4*MaxImages + MaxWants*(MaxAvoid+10)
)

// Request is a host's message to the tracker: what it has, and what it asks for.
type Request struct {
	// Epoch is that of the tracker which was told what blobs this host has; empty: none was.
	Epoch string `json:"epoch,omitempty"`
	// Held are digests ("sha256:...") of blobs that are whole on this host: all of them when Full is set, otherwise those that came since.
	Held   []string `json:"held,omitempty"`
	Full   bool     `json:"full,omitempty"`
	Images *Images  `json:"images,omitempty"` // that are here; nil: those that it named last
	Wants  []Want   `json:"wants,omitempty"`  // at most MaxWants
	Tag    string   `json:"tag,omitempty"`    // name of an image, in full, of which the host cannot ask the registry what it means
}

// Want is a blob that a host fetches.
type Want struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`            // in bytes, at most MaxSize; 0: it is not known, and hosts that have all of it are wanted
	Have   Pieces `json:"have,omitempty"`  // that the host has
	Share  Pieces `json:"share,omitempty"` // of these, that it gives others: those from a registry, whose digest nobody has checked yet
	Take   int    `json:"take,omitempty"`  // how many more pieces it can fetch from the registry now
	// Avoid are ids of hosts that did not give the pieces that they have, at most MaxAvoid.
	Avoid []string `json:"avoid,omitempty"`
	// NoRanges says that the registry gives the blob as a whole alone, NoRegistry that this host cannot get it from there at all.
	NoRanges   bool `json:"noRanges,omitempty"`
	NoRegistry bool `json:"noRegistry,omitempty"`
}

// Answer is the tracker's.
type Answer struct {
	Epoch string `json:"epoch"` // of this tracker: one that is not that of the request wants all of Held
	// Grants are those for the request's Wants, in their order.
	Grants []Sources `json:"grants,omitempty"`
	// AgainMillis is the time until the host asks again, in milliseconds.
	AgainMillis int `json:"againMillis"`
	// Settling says that the tracker is new, and has not been told by all hosts yet what they have.
	Settling bool `json:"settling,omitempty"`
	// Kept lists the images that the host is to keep, for one that wants nothing; nil: as it was told last.
	Kept *Images `json:"kept,omitempty"`
	// ResolvedTag is what the request's Tag meant last, as another host of the cluster knows; nil: none does.
	ResolvedTag *ResolvedTag `json:"meant,omitempty"`
}

// Sources says where a host gets a blob from.
type Sources struct {
	Peers []Peer `json:"peers,omitempty"` // have pieces that the host lacks; at most MaxPeers
	Take  []int  `json:"take,omitempty"`  // pieces that this host is the one to fetch from the registry
	Whole bool   `json:"whole,omitempty"` // it is the one to fetch all that is missing from the registry, which gives no ranges
	// Coming says that other hosts are fetching what this one lacks.
	Coming bool `json:"coming,omitempty"`
}

// Peer is a host that has pieces of a blob.
type Peer struct {
	Host    string `json:"host"` // its id
	Address string `json:"address"`
	Has     Pieces `json:"has"`
}
