package runtime

import (
	"time"

	"pinion/raftfsm/spec"
)

// Exit is the end of a container.
type Exit struct {
	Code int       // exit code, 128+n when signal n ended it; 137 also when it ran out of memory
	At   time.Time // when
	OOM  bool      // the kernel killed it for memory
	// Lost is set when the exit code is not known any more (the shim died); Code is then -1.
	Lost string

	PeakMemory int64 // bytes that it used at most; 0: not known
}

// LostExit is the exit of a container whose exit code is unknown.
func LostExit(why string) Exit { return Exit{Code: -1, At: time.Now(), Lost: why} }

// FillReport writes the exit into a container's report. An exit code that is not known is left out.
func (e Exit) FillReport(report *spec.ContainerReport) {
	report.PeakMemory = max(report.PeakMemory, e.PeakMemory) // of all times that it ran
	if e.Lost != "" {
		report.Reason = Truncate("The exit code is not known: " + e.Lost)
		return
	}
	report.ExitCode = &e.Code
	if e.OOM {
		report.Reason = spec.OutOfMemory + ": Container killed due to memory usage"
	}
}

// maxReason is the number of characters of a reason that ECS keeps.
const maxReason = 1024

// Truncate cuts a reason to the length that ECS keeps.
func Truncate(reason string) string {
	count := 0
	for i := range reason {
		if count == maxReason {
			return reason[:i]
		}
		count++
	}
	return reason
}
