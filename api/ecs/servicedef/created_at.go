package servicedef

import (
	"encoding/json"
	"time"

	"pinion/api/ecs/field"
)

// parseCreatedAt reads the moments between which what is listed was created. given is JSON: {"after": seconds, "before": seconds}.
func parseCreatedAt(given any) (after, before time.Time, err error) {
	before = time.Unix(1<<40, 0) // later than everything
	members, isObject := given.(map[string]any)
	if given != nil && !isObject {
		return after, before, field.Errorf("createdAt", "createdAt must be an object with after and before.")
	}
	for name, to := range map[string]*time.Time{"after": &after, "before": &before} {
		value, there := members[name]
		if !there || value == nil {
			continue
		}
		number, isNumber := value.(json.Number)
		seconds, err := number.Float64()
		if !isNumber || err != nil {
			return after, before, field.Errorf("createdAt."+name, "createdAt.%s must be a number of seconds since 1970.", name)
		}
		*to = time.UnixMilli(int64(seconds * 1000))
	}
	return after, before, nil
}
