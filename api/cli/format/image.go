package format

import "strings"

// ImageName is the name of an image without what Docker leaves out of it. It may be the word of a host.
func ImageName(name string) string {
	return Plain(strings.TrimPrefix(strings.TrimPrefix(name, "docker.io/"), "library/"))
}
