package format

import "pinion/api/client"

// What people see of a host that cannot be reached.
const (
	Unknown = "UNKNOWN" // its heartbeats are missing, and what it said last may be over; of its tasks, too
	Lost    = "LOST"    // it was given up: its tasks are STOPPED
)

// Unreachable is Unknown or Lost, and "" for a host that is heard of.
func Unreachable(h client.Host) string {
	switch {
	case !h.LostAt.IsZero():
		return Lost
	case !h.Connected:
		return Unknown
	}
	return ""
}
