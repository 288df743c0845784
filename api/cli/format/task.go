package format

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pinion/api/client"
)

// IndexColumns are the columns of a task's index in an array and its rank in a gang, with the attribute that has it.
var IndexColumns = []struct{ Column, Attribute string }{{"INDEX", "pinion.array-index"}, {"RANK", "pinion.rank"}}

// CompareIndex orders tasks that were started together by array index and rank.
func CompareIndex(a, b client.Task) int {
	for _, n := range IndexColumns {
		if order := cmp.Compare(a.IntAttribute(n.Attribute), b.IntAttribute(n.Attribute)); order != 0 {
			return order
		}
	}
	return 0
}

// ExitSummary is how a stopped task ended: the exit codes of its containers, and the reason when that says more.
func ExitSummary(task client.Task) string {
	if !task.Stopped() {
		return ""
	}
	var codes []string
	for _, c := range task.Containers {
		if c.ExitCode != nil {
			codes = append(codes, strconv.Itoa(*c.ExitCode))
		}
	}
	return strings.TrimSpace(strings.Join(codes, ",") + " " + StopReason(task))
}

// StopReason is why a task did not simply run to its end, empty when it did.
func StopReason(task client.Task) string {
	for _, c := range task.Containers {
		if c.Reason != "" {
			return c.Reason
		}
	}
	if task.StopCode == "EssentialContainerExited" {
		return ""
	}
	return task.StoppedReason
}

// StatusCounts counts tasks by status: "3 RUNNING, 5 STOPPED".
func StatusCounts(tasks []client.Task) string {
	counts := map[string]int{}
	for _, task := range tasks {
		counts[task.Status]++
	}
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[status], status))
	}
	return strings.Join(parts, ", ")
}
