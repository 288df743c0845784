package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// repeatWindow is how long refusals and failures that are alike are counted instead of written one by one.
	repeatWindow = time.Minute
	// maxSources bounds the sources that are counted at once in a trail, and with it the lines of a window. What comes from further ones is
	// counted together.
	maxSources = 4096
)

// Log writes the record of one host. A nil Log records nothing. It is safe for concurrent use.
type Log struct {
	log *slog.Logger // for what cannot be written
	now func() time.Time

	mu             sync.Mutex
	administration *trail
	users          *trail
	refused        *trail
	since          time.Time   // when the window began
	timer          *time.Timer // ends the window when nothing more comes; nil: nothing is counted
	closed         bool
	follow         map[chan Line]struct{} // who is sent the refusals that are written
	lost           int                    // lines that could not be written since the last that could
}

// trail is the lines of callers who trust each other as far: no others decide how much is kept of them, or what is counted instead of written.
type trail struct {
	files
	repeats map[source]*repeat // what was written in this window, and counts
}

func newTrail(path string) *trail {
	return &trail{files: files{path: path}, repeats: map[source]*repeat{}}
}

// trails are those of the log.
func (l *Log) trails() [3]*trail { return [...]*trail{l.administration, l.users, l.refused} }

// trailOf is the trail that has a line.
func (l *Log) trailOf(e Line) *trail {
	switch {
	case e.Outcome == Refused:
		return l.refused
	case e.Administrator:
		return l.administration
	default:
		return l.users
	}
}

// repeat is a line that was written, and how often it came again.
type repeat struct {
	last  Line
	count int
}

// Open opens the record in a directory, which is made if there is none; only its owner may read it.
func Open(dir string, log *slog.Logger) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	l := &Log{
		log: log, now: time.Now,
		administration: newTrail(filepath.Join(dir, administrationName)), users: newTrail(filepath.Join(dir, usersName)), refused: newTrail(filepath.Join(dir, refusedName)),
	}
	for _, t := range l.trails() {
		if err := t.open(); err != nil {
			return nil, errors.Join(fmt.Errorf("audit log: %w", err), l.closeFiles())
		}
	}
	return l, nil
}

func (l *Log) closeFiles() (err error) {
	for _, t := range l.trails() {
		err = errors.Join(err, t.close())
	}
	return err
}

// Close writes what was only counted, and closes the files.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endWindow(l.now())
	l.closed = true
	return l.closeFiles()
}

// Record adds a line with the time of now. A refusal or a failure like one that was written within the last minute is counted; one with a
// command is written, because each says what was to run.
func (l *Log) Record(e Line) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Time = l.now()
	e.bound()
	if e.Time.Sub(l.since).Abs() >= repeatWindow {
		l.endWindow(e.Time)
	}
	t := l.trailOf(e)
	if e.Outcome != Done && e.Command == "" && l.counts(t, e) {
		return
	}
	l.write(t, e)
}

// counts reports whether the line is only counted, because one like it was written.
func (l *Log) counts(t *trail, e Line) bool {
	from := e.source()
	known := t.repeats[from]
	if known == nil && len(t.repeats) >= maxSources {
		from = source{} // of all the others
		known = t.repeats[from]
	}
	if known == nil {
		t.repeats[from] = &repeat{last: e}
		if l.timer == nil {
			l.timer = time.AfterFunc(repeatWindow, l.flush)
		}
		return false
	}
	known.last, known.count = e, known.count+1
	return true
}

// flush ends the window.
func (l *Log) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endWindow(l.now())
}

// endWindow writes the counts of the window, and begins another.
func (l *Log) endWindow(now time.Time) {
	for _, t := range l.trails() {
		l.writeCounts(t)
	}
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.since = now
}

// writeCounts writes how often each line of a trail came again in the window.
func (l *Log) writeCounts(t *trail) {
	for from, r := range t.repeats {
		if r.count == 0 {
			continue
		}
		e := r.last
		e.Repeats, e.Until, e.Time = r.count, r.last.Time, l.since
		if from == (source{}) {
			e = Line{Time: l.since, Until: r.last.Time, Outcome: r.last.Outcome, Repeats: r.count, Message: "from more sources than are told apart"}
		}
		l.write(t, e)
	}
	clear(t.repeats)
}

func (l *Log) write(t *trail, e Line) {
	if l.closed {
		return // the host stops
	}
	l.notifyFollowers(e)
	line, err := json.Marshal(e)
	if err == nil {
		err = t.append(append(line, '\n'))
	}
	if err != nil {
		if l.lost++; l.lost == 1 {
			l.log.Error("the audit log cannot be written, entries are lost", "error", err)
		}
		return
	}
	if l.lost > 0 {
		l.log.Warn("the audit log is written again", "lost", l.lost)
		l.lost = 0
	}
}
