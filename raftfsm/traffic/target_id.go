package traffic

import (
	"fmt"
	"strconv"
	"strings"
)

// TargetID names a container port of a task in a group. A port that is in two groups is two targets, each with its own health and requests.
type TargetID struct {
	Group     string
	Task      string
	Container string
	Port      int // of the container
}

// String is the Target.ID of the port.
func (t TargetID) String() string {
	return fmt.Sprintf("%s/%s/%s/%d", t.Group, t.Task, t.Container, t.Port)
}

// ParseTargetID reads a Target.ID. It is not ok for a target that is no task.
func ParseTargetID(id string) (t TargetID, ok bool) {
	parts := strings.Split(id, "/")
	if len(parts) != 4 {
		return TargetID{}, false
	}
	port, err := strconv.Atoi(parts[3])
	return TargetID{Group: parts[0], Task: parts[1], Container: parts[2], Port: port}, err == nil
}
