// Package failpoint ends the process at a chosen point, as a crash or a power cut would. Tests choose one by the environment variable
// PINION_FAILPOINT, which is read once when the program starts; nothing that a request can do changes it. In a normal run a
// point costs one comparison with nil.
package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Variable names the point and, after a colon, the how manieth time that it is passed: "report-sent:3". Without a number it is the
// first time.
const Variable = "PINION_FAILPOINT"

// Point is a place in the program, named for what has just been done.
type Point string

// The points of an agent, in the order of a task's life.
const (
	TaskAssigned      Point = "task-assigned"
	TaskDirMade       Point = "task-dir-made"
	GPUsLocked        Point = "gpus-locked"
	SnapshotPrepared  Point = "snapshot-prepared"
	ContainerCreated  Point = "container-created"
	ProcessCreated    Point = "process-created"
	ProcessStarted    Point = "process-started"
	StartNoted        Point = "start-noted"
	RunningKnown      Point = "running-known"
	ReportSending     Point = "report-sending"
	ReportSent        Point = "report-sent"
	ExitKnown         Point = "exit-known"
	GPUsReleased      Point = "gpus-released"
	StoppedRecorded   Point = "stopped-recorded"
	ContainersRemoved Point = "containers-removed"
	TaskDirRemoved    Point = "task-dir-removed"
)

// The points of a server, in the order of a change's life; those of roles come last.
const (
	TermBegun         Point = "term-begun"
	PlacementPlanned  Point = "placement-planned"
	EntryProposed     Point = "entry-proposed"
	EntryStoring      Point = "entry-storing"
	EntryStored       Point = "entry-stored"
	EntryApplied      Point = "entry-applied"
	EntryAcknowledged Point = "entry-acknowledged"
	AssignmentSending Point = "assignment-sending"
	AssignmentSent    Point = "assignment-sent"
	ReportsRecorded   Point = "reports-recorded"
	ValueStored       Point = "value-stored" // a term or a vote
	SnapshotBegun     Point = "snapshot-begun"
	SnapshotWritten   Point = "snapshot-written"
	RoleRecorded      Point = "role-recorded"
	NonvoterAdded     Point = "nonvoter-added"
	VoterAdding       Point = "voter-adding"
	ServerRemoved     Point = "server-removed"
	HostAdmitted      Point = "host-admitted"
)

// Points are all points.
var Points = []Point{
	TaskAssigned, TaskDirMade, GPUsLocked, SnapshotPrepared, ContainerCreated, ProcessCreated, ProcessStarted, StartNoted, RunningKnown,
	ReportSending, ReportSent, ExitKnown, GPUsReleased, StoppedRecorded, ContainersRemoved, TaskDirRemoved,
	TermBegun, PlacementPlanned, EntryProposed, EntryStoring, EntryStored, EntryApplied, EntryAcknowledged, AssignmentSending, AssignmentSent,
	ReportsRecorded, ValueStored, SnapshotBegun, SnapshotWritten, RoleRecorded, NonvoterAdded, VoterAdding, ServerRemoved, HostAdmitted,
}

// chosen is the point at which this process ends; nil in a normal run.
var chosen = parse(os.Getenv(Variable))

// trigger is a point and how many times it is still passed.
type trigger struct {
	point Point
	left  atomic.Int64
}

// Reached ends the process with SIGKILL if this is the chosen point, and the time to do it.
func Reached(at Point) {
	if chosen == nil {
		return
	}
	if chosen.point == at && chosen.left.Add(-1) == 0 {
		fmt.Fprintln(os.Stderr, Line(at))
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until the signal has come: the next step must not be done
	}
}

// Line is the last line of a process that ends at a point.
func Line(at Point) string { return "failpoint: " + string(at) }

func parse(text string) *trigger {
	name, times, numbered := strings.Cut(text, ":")
	if name == "" {
		return nil
	}
	t := &trigger{point: Point(name)}
	left, err := strconv.ParseInt(times, 10, 64)
	if !numbered || err != nil {
		left = 1
	}
	t.left.Store(left)
	return t
}
