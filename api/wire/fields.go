package wire

import (
	"reflect"
	"strings"
	"sync"
)

var knownFields sync.Map // reflect.Type -> map[string]reflect.StructField

// Fields maps JSON names to the fields of a struct type. A field hides those of the same name in embedded structs. The map
// is shared and must not be changed.
func Fields(t reflect.Type) map[string]reflect.StructField {
	if fields, ok := knownFields.Load(t); ok {
		return fields.(map[string]reflect.StructField)
	}
	fields := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" || !field.IsExported() {
			continue
		}
		if shown, ok := fields[name]; !ok || len(field.Index) < len(shown.Index) {
			fields[name] = field
		}
	}
	knownFields.Store(t, fields)
	return fields
}

// maxMistyped is the length in bytes of a name that can be a known one, mistyped.
const maxMistyped = 128

// nearest is the known name closest to a mistyped one, empty when none is close.
func nearest(name string, fields map[string]reflect.StructField) string {
	if len(name) > maxMistyped {
		return ""
	}
	best, least := "", 1+max(2, len(name)/3)
	for _, known := range sortedKeys(fields) {
		if d := editDistance(strings.ToLower(name), strings.ToLower(known)); d < least {
			best, least = known, d
		}
	}
	return best
}

// editDistance is the number of single-letter edits between two words (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
