package logs

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/logfilter"
	"pinion/raftfsm/spec"
)

// selection is the choice of records of a query.
type selection struct {
	since, until time.Time // zero: without a bound
	matches      func(text string) bool
	isSelective  bool // some may be left out at the end or in the middle
}

func newSelection(q spec.LogQuery) (selection, error) {
	matches, err := q.Matcher()
	return selection{q.Since, q.Until, matches, !q.Filter.IsZero()}, err
}

func (s selection) has(line *spec.LogLine) bool {
	return !line.Time.Before(s.since) && s.matches(line.Text)
}

// isOver reports whether a record and all after it are beyond the end of the query.
func (s selection) isOver(line *spec.LogLine) bool {
	return !s.until.IsZero() && !line.Time.Before(s.until)
}

// recordsSuffix ends the name of the file in which a logger notes the expression that the first line of a record matches.
const recordsSuffix = ".multiline"

// recordLookback is the span before a moment in which lines are read, so that one at the moment is known to begin a record or to continue
// one. Where no first line has come for as long, records may begin elsewhere than for another query.
const recordLookback = 12 * logdriver.RecordFlush

// multilineAssembler puts the lines of a container together to records. What is in one follows from the lines and their stamps alone.
type multilineAssembler struct {
	first *regexp.Regexp
	open  *spec.LogLine // the record that may take more lines, without its text; nil: none
	text  strings.Builder
	lines int
	since time.Time // when open was read, by this process's clock
}

// newMultilineAssembler makes the joiner of a container whose logger has noted an expression; nil for any other.
func newMultilineAssembler(task *os.Root, container string) (*multilineAssembler, error) {
	pattern, err := fs.ReadFile(task.FS(), container+recordsSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	first, err := logfilter.Compile(string(pattern))
	if err != nil {
		return nil, err
	}
	return &multilineAssembler{first: first}, nil
}

// add takes the next line, and returns the record that ended before it; nil when none did.
func (j *multilineAssembler) add(line *spec.LogLine) (record *spec.LogLine) {
	if j.open != nil && j.continues(line) {
		j.text.WriteByte('\n')
		j.text.WriteString(line.Text)
		j.lines++
		return nil
	}
	record = j.take()
	j.open, j.lines, j.since = line, 1, time.Now()
	j.text.WriteString(line.Text)
	return record
}

// continues reports whether a line belongs to the open record.
func (j *multilineAssembler) continues(line *spec.LogLine) bool {
	return j.lines < logdriver.MaxRecordLines && j.text.Len()+1+len(line.Text) <= logdriver.MaxRecordBytes &&
		line.Time.Sub(j.open.Time) <= logdriver.RecordFlush && !j.first.MatchString(line.Text)
}

// rest returns the open record when nothing more can continue it: the log is at its last line, or its time is over.
func (j *multilineAssembler) rest(last bool) *spec.LogLine {
	if j.open == nil || !last && time.Since(j.since) <= logdriver.RecordFlush {
		return nil
	}
	return j.take()
}

func (j *multilineAssembler) take() *spec.LogLine {
	record := j.open
	if record != nil {
		record.Text = j.text.String()
	}
	j.open = nil
	j.text.Reset()
	return record
}
