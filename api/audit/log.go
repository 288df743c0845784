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
	// repeatWindow is how long refusals that are alike are counted instead of written one by one.
	repeatWindow = time.Minute
	// maxSources bounds the sources that are counted at once, and with it the lines of a window. Refusals from further ones are counted
	// together.
	maxSources = 4096
)

// Log writes the record of one host. A nil Log records nothing. It is safe for concurrent use.
type Log struct {
	log *slog.Logger // for what cannot be written
	now func() time.Time

	mu      sync.Mutex
	changes files     // what was not refused
	refused files     // beside it, because whoever may do nothing decides how much it is
	since   time.Time // when the window began
	repeats map[source]*repeat
	timer   *time.Timer // ends the window when nothing more comes
	closed  bool
	follow  map[chan Line]struct{} // who is sent the refusals that are written
	lost    int                    // lines that could not be written since the last that could
}

// repeat is a refusal that was written, and how often it came again.
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
		log: log, now: time.Now, repeats: map[source]*repeat{},
		changes: files{path: filepath.Join(dir, changesName)}, refused: files{path: filepath.Join(dir, refusedName)},
	}
	if err := errors.Join(l.changes.open(), l.refused.open()); err != nil {
		return nil, errors.Join(fmt.Errorf("audit log: %w", err), l.changes.close(), l.refused.close())
	}
	return l, nil
}

// Close writes what was only counted, and closes the file.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endWindow(l.now())
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	return errors.Join(l.changes.close(), l.refused.close())
}

// Record adds a line with the time of now. A refusal like one that was written within the last minute is counted.
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
	if e.Outcome == Refused && l.counts(e) {
		return
	}
	l.write(e)
}

// counts reports whether the refusal is only counted, because one like it was written.
func (l *Log) counts(e Line) bool {
	from := e.source()
	known := l.repeats[from]
	if known == nil && len(l.repeats) >= maxSources {
		from = source{} // of all the others
		known = l.repeats[from]
	}
	if known == nil {
		if l.repeats[from] = (&repeat{last: e}); len(l.repeats) == 1 {
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
	for from, r := range l.repeats {
		if r.count == 0 {
			continue
		}
		e := r.last
		e.Repeats, e.Until, e.Time = r.count, r.last.Time, l.since
		if from == (source{}) {
			e = Line{Time: l.since, Until: r.last.Time, Outcome: Refused, Repeats: r.count, Message: "from more sources than are told apart"}
		}
		l.write(e)
	}
	clear(l.repeats)
	l.since = now
}

func (l *Log) write(e Line) {
	if l.closed {
		return // the host stops
	}
	l.notifyFollowers(e)
	line, err := json.Marshal(e)
	if err == nil {
		to := &l.changes
		if e.Outcome == Refused {
			to = &l.refused
		}
		err = to.append(append(line, '\n'))
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
