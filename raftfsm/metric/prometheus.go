package metric

import "strings"

// maxLabel bounds the value of a label of Prometheus in bytes: names of ECS are of 255 at most.
const maxLabel = 255

// LabelValue is a text as the value of a label of Prometheus. Users choose most of them: they are cut, and made UTF-8.
func LabelValue(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ToValidUTF8(text[:min(len(text), maxLabel)], "")
}

// Bool is 1 when something is so, else 0.
func Bool(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
