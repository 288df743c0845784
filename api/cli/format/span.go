package format

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pinion/raftfsm/lazyregexp"
)

// maxSpanDays bounds a span of time that is given in days.
const maxSpanDays = 36500

// ParseSpan reads a span of time as Go writes it, which may begin with days: "90s", "1h30m", "7d", "1d12h".
func ParseSpan(text string) (time.Duration, error) {
	number, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseFloat(number, 64)
	if err != nil || days != days || days < 0 || days > maxSpanDays {
		return 0, fmt.Errorf("%q is no span of time such as 7d or 1d12h", text)
	}
	span := time.Duration(days * float64(24*time.Hour))
	if rest == "" {
		return span, nil
	}
	more, err := time.ParseDuration(rest)
	return span + more, err
}

// slurmTime is MM, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS.
var slurmTime = lazyregexp.New(`^(?:([0-9]{1,7})-)?([0-9]{1,7})(?::([0-9]{1,7}))?(?::([0-9]{1,7}))?$`)

// ParseTimeLimit reads a span of time as ParseSpan does, or as Slurm's --time does: minutes ("90"), "MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM" or
// "D-HH:MM:SS".
func ParseTimeLimit(text string) (time.Duration, error) {
	parts := slurmTime.FindStringSubmatch(text)
	if parts == nil {
		return ParseSpan(text)
	}
	fields := parts[2:] // behind days they begin with hours, and so do three of them; others begin with minutes
	if parts[1] == "" && parts[4] == "" {
		fields = append([]string{""}, parts[2:4]...)
	}
	seconds := int64(0)
	for i, unit := range []int64{3600, 60, 1} {
		n, _ := strconv.ParseInt(fields[i], 10, 64) // digits, or nothing
		seconds += n * unit
	}
	days, _ := strconv.ParseInt(parts[1], 10, 64)
	if seconds += days * 86400; seconds > maxSpanDays*86400 {
		return 0, fmt.Errorf("%q is longer than %d days", text, maxSpanDays)
	}
	return time.Duration(seconds) * time.Second, nil
}
