package query

import (
	"regexp"
	"strings"

	"pinion/gpu"
)

// GPUModels is the expression that selects GPUs with one of the names in their model, in any case. To a task without GPUs a host has all of its models.
func GPUModels(names ...string) string {
	patterns := make([]string, len(names))
	for i, name := range names {
		patterns[i] = regexp.QuoteMeta(name)
	}
	pattern := "(?i)[^,]*(" + strings.Join(patterns, "|") + ")[^,]*" // commas are between the models of a host
	return "attribute:" + gpu.AttributeModel + " =~ '" + strings.ReplaceAll(pattern, "'", "''") + "'"
}
