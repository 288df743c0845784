package events

import (
	"strconv"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm"
)

// formatID is the id of an event, after which a client can resume: INDEX-PLACE, and -INCARNATION of a pool that was
// recovered.
func formatID(mark raftfsm.Position, incarnation int) string {
	id := strconv.FormatUint(mark.Index, 10) + "-" + strconv.Itoa(mark.Offset)
	if incarnation != firstIncarnation {
		id += "-" + strconv.Itoa(incarnation)
	}
	return id
}

const firstIncarnation = 1

// parseID reads an id, or an index alone, which people type: it stands for the end of its log entry, and incarnation is 0,
// for any.
func parseID(text string) (mark raftfsm.Position, incarnation int, err error) {
	invalid := wire.Errorf(wire.InvalidParameter, "since must be the id of an event such as 1234-0, or an index such as 1234, not %q.", text)
	parts := strings.Split(text, "-")
	index, err := strconv.ParseUint(parts[0], 10, 64)
	if err != nil || len(parts) > 3 {
		return mark, 0, invalid
	}
	numbers := []int{0, firstIncarnation}
	for i, part := range parts[1:] {
		number, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return mark, 0, invalid
		}
		numbers[i] = int(number)
	}
	if len(parts) == 1 {
		return raftfsm.PositionAfter(index), 0, nil
	}
	return raftfsm.Position{Index: index, Offset: numbers[0]}, numbers[1], nil
}
