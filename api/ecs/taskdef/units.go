package taskdef

import (
	"math"
	"strconv"
	"strings"

	"pinion/api/ecs/field"
	"pinion/raftfsm/lazyregexp"
)

var quantityPattern = lazyregexp.New(`(?i)^\s*([0-9]+|[0-9]*\.[0-9]+)\s*([a-z]*)\s*$`)

// parseCPU reads a task's cpu, "1024" or "1 vCPU", as CPU units in decimal. Empty stays empty.
func parseCPU(path, given string) (string, error) {
	return parseUnits(path, given, "vcpu", "Invalid 'cpu' setting for task: %q must be CPU units (\"1024\") or vCPUs (\"1 vCPU\").")
}

// parseMemory reads a task's memory, "2048" or "2GB", as MiB in decimal. Empty stays empty.
func parseMemory(path, given string) (string, error) {
	return parseUnits(path, given, "gb", "Invalid 'memory' setting for task: %q must be MiB (\"2048\") or gigabytes (\"2GB\").")
}

// parseUnits reads a quantity whose bare numbers are the small unit and whose named unit is 1024 of them.
func parseUnits(path, given, large, format string) (string, error) {
	if given == "" {
		return "", nil
	}
	parts := quantityPattern.FindStringSubmatch(given)
	if parts == nil {
		return "", field.Errorf(path, format, given)
	}
	n, err := strconv.ParseFloat(parts[1], 64)
	switch strings.ToLower(parts[2]) {
	case large:
		n *= 1024
	case "":
	default:
		return "", field.Errorf(path, format, given)
	}
	if err != nil || n < 1 || n > math.MaxInt32 || n != math.Trunc(n) {
		return "", field.Errorf(path, format, given)
	}
	return strconv.FormatInt(int64(n), 10), nil
}
