// Package words helps with a command that does not exist: it knows what other tools call Pinion's commands, and which of
// Pinion's commands a mistyped word is near to.
package suggest

import (
	"fmt"
	"maps"
	"slices"
)

// maxDistance is the number of edits up to which a word is taken for a mistyped command.
const maxDistance = 2

// neverSuggested are the commands that end tasks or change what a machine is: nobody shall run them by following a hint.
var neverSuggested = []string{"down", "stop", "leave", "recover", "rm", "remove"}

// Hint is what to do about a word that is no command; empty when nothing is known of it.
func Hint(word string, commands []string) string {
	if ours, known := otherTools[word]; known {
		return ours
	}
	if near := Nearest(word, commands); near != "" {
		return fmt.Sprintf("Did you mean %q?", near)
	}
	return ""
}

// OtherTools returns the commands of other tools with what to do instead.
func OtherTools() map[string]string { return maps.Clone(otherTools) }

// Nearest is the candidate that differs from the word by the fewest edits, at most two and at most one for each two letters of the word;
// empty when there is none, or when a word that is never suggested is as near: that is what was meant.
func Nearest(word string, candidates []string) string {
	best, nearest := min(maxDistance, len(word)/2), ""
	for _, candidate := range slices.Concat(neverSuggested, candidates) {
		if d := distance(word, candidate); d < best || d == best && nearest == "" {
			best, nearest = d, candidate
		}
	}
	if slices.Contains(neverSuggested, nearest) {
		return ""
	}
	return nearest
}

// distance is the number of letters to insert, remove, replace or swap with the next one that makes b of a.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	rows := make([][]int, len(from)+1)
	for i := range rows {
		rows[i] = make([]int, len(to)+1)
		rows[i][0] = i
	}
	for j := range to {
		rows[0][j+1] = j + 1
	}
	for i := range from {
		for j := range to {
			replaced := rows[i][j]
			if from[i] != to[j] {
				replaced++
			}
			rows[i+1][j+1] = min(replaced, rows[i][j+1]+1, rows[i+1][j]+1)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				rows[i+1][j+1] = min(rows[i+1][j+1], rows[i-1][j-1]+1)
			}
		}
	}
	return rows[len(from)][len(to)]
}
