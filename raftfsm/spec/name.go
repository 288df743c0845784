package spec

// maxName is how long ECS lets names be.
const maxName = 255

// ValidName reports whether a cluster, a family, a container, a volume or a capacity provider can have the name: 1 to 255 letters,
// digits, underscores and hyphens.
func ValidName(name string) bool {
	for _, c := range []byte(name) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return 0 < len(name) && len(name) <= maxName
}
