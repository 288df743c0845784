package ecs

import (
	"regexp"
	"strconv"

	"pinion/api/wire"
)

// arrayPattern is how the indexes of an array are written.
var arrayPattern = regexp.MustCompile(`^([0-9]{1,9})-([0-9]{1,9})$`)

// taskTotal is how many tasks a call asks for, by count or by the indexes of an array.
func (in *runInput) taskTotal(most int) (array bool, from, count int, err error) {
	switch {
	case in.Array == "" && in.Count == nil:
		return false, 0, 1, nil
	case in.Array == "":
		count = *in.Count
	case in.Count != nil:
		return false, 0, 0, wire.Errorf(wire.InvalidParameter, "count and array both say how many tasks there are: give one of them.")
	default:
		array = true
		if from, count, err = parseArray(in.Array); err != nil {
			return false, 0, 0, err
		}
	}
	if count < 1 || count > most {
		return false, 0, 0, wire.Errorf(wire.InvalidParameter, "count must be between 1 and %d, not %d.", most, count)
	}
	return array, from, count, nil
}

// parseArray reads "0-99", the indexes of the tasks of an array: the first, and how many there are.
func parseArray(text string) (from, count int, err error) {
	parts := arrayPattern.FindStringSubmatch(text)
	if parts == nil {
		return 0, 0, wire.Errorf(wire.InvalidParameter, `array must be the first and the last index, such as "0-99", not %q.`, text)
	}
	from, _ = strconv.Atoi(parts[1]) // nine digits
	last, _ := strconv.Atoi(parts[2])
	if last < from {
		return 0, 0, wire.Errorf(wire.InvalidParameter, "array %q ends before it begins.", text)
	}
	return from, last - from + 1, nil
}
