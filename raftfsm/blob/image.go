package blob

const (
	// MaxImages bounds the images that a host says it has.
	MaxImages = 2000
	// maxName bounds the name of an image: what is longer, no registry has.
	maxName = 512
)

// Image is an image that a host has, under one of its names.
type Image struct {
	Name   string `json:"name"`   // registry/repository:tag, or @digest
	Digest string `json:"digest"` // of its manifest or index
	Size   int64  `json:"size"`   // of its blobs on this host in bytes, as they are stored
	// Resolved is when a registry said last that the name, a tag, means this, in seconds since 1970; 0: none did, or to a task with its own
	// credentials alone.
	Resolved int64 `json:"resolved,omitempty"`
}

// maxDigest is the length of the longest digest that images have: sha512 and 128 hex digits.
const maxDigest = 136

// ValidDigest reports whether a host may name a blob like this.
func ValidDigest(digest string) bool { return digest != "" && len(digest) <= maxDigest }

// Valid reports whether a host may name an image like this.
func (i Image) Valid() bool {
	return i.Name != "" && len(i.Name) <= maxName && len(i.Digest) <= maxName && i.Size >= 0
}

// Images is a list of images, at most MaxImages.
type Images struct {
	List []Image `json:"list,omitempty"`
}

// HeldImage is an image with the hosts that have it.
type HeldImage struct {
	Image
	Hosts []string // their ids, sorted
}
