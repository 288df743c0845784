package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"pinion/node/logs/record"
)

// reopenDelay is the delay before a log file that could not be opened is tried again.
const reopenDelay = time.Second

// logFile is the current log file and its rotated predecessors, path.1 the youngest. Writing never fails for the caller:
// lines that cannot be written are counted, and the log states how many are missing as soon as it is writable again.
type logFile struct {
	path     string
	maxSize  int64
	maxFiles int
	floor    int64 // bytes of the disk that stay free
	now      func() time.Time

	mu           sync.Mutex
	f            *os.File  // nil while the file cannot be opened
	base         int64     // bytes of the log in the files before f, those that are gone too
	size         int64     // bytes of complete records in f, and of its first line
	empty        bool      // f has no record
	last         time.Time // stamp of the last line, of an earlier logger's too
	triedAt      time.Time
	room         int64 // bytes to write until the next look at the free space
	stopped      bool  // nothing is written, because the disk is at its floor
	droppedLines int
	cause        error
	encoded      []byte
}

func newFile(path string, maxSize int64, maxFiles int, floor int64, now func() time.Time) *logFile {
	l := &logFile{path: path, maxSize: maxSize, maxFiles: maxFiles, floor: floor, now: now}
	if info, err := os.Stat(l.rotated(1)); err == nil && info.Size() > 0 { // the last logger may have ended right after it had rotated
		l.base = baseOf(l.rotated(1)) + info.Size()
		last, _ := lastRecord(l.rotated(1), info.Size())
		l.continueFrom(last)
	}
	l.open()
	return l
}

// writeLines writes the complete lines at the beginning of raw in one write, and the incomplete rest too when it is the
// last of its stream or too long to be kept. It returns the number of bytes of raw that it consumed.
func (l *logFile) writeLines(stream string, raw []byte, last bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, done, lines := l.stamp(), 0, 0
	l.encoded = l.encoded[:0]
	for done < len(raw) {
		text, end, partial := nextLine(raw[done:], last)
		if end == 0 {
			break
		}
		l.encoded = record.Append(l.encoded, record.Record{Time: at, Stream: stream, Partial: partial, Text: text})
		done += end
		lines++
		if int64(len(l.encoded)) >= min(record.MaxText, l.maxSize/4) { // a file is rotated between writes only
			l.flush(lines, at)
			lines = 0
		}
	}
	l.flush(lines, at)
	return done
}

// nextLine returns the first line of raw, the bytes of raw that it takes (0: incomplete), and whether more of the same line
// follows.
func nextLine(raw []byte, last bool) (text []byte, end int, partial bool) {
	newline := bytes.IndexByte(raw[:min(len(raw), record.MaxText+1)], '\n')
	switch {
	case newline >= 0:
		return raw[:newline], newline + 1, false
	case len(raw) > record.MaxText:
		cut := record.MaxText
		for cut > record.MaxText-utf8.UTFMax && !utf8.RuneStart(raw[cut]) {
			cut--
		}
		return raw[:cut], cut, true
	case last:
		return raw, len(raw), false
	}
	return nil, 0, false
}

// flush writes the encoded records. A partial write is truncated away, so that the file holds complete records only.
func (l *logFile) flush(lines int, at time.Time) {
	defer func() { l.encoded = l.encoded[:0] }()
	if size := int64(len(l.encoded)); lines == 0 || !l.ensureOpen(size) || !l.hasRoom(at, size) {
		l.droppedLines += lines
		return
	}
	if l.droppedLines > 0 {
		note := "pinion: " + strconv.Itoa(l.droppedLines) + " lines were lost here because the log could not be written: " + l.cause.Error()
		if !l.append(ownLine(at, note)) {
			l.droppedLines += lines
			return
		}
		l.droppedLines = 0
	}
	if !l.append(l.encoded) {
		l.droppedLines += lines
	}
}

// ownLine is a record of the logger's own.
func ownLine(at time.Time, text string) []byte {
	return record.Append(nil, record.Record{Time: at, Stream: "stderr", Text: []byte(text)})
}

func (l *logFile) append(b []byte) bool {
	n, err := l.f.Write(b)
	if err == nil {
		l.size += int64(n)
		l.empty = false
		return true
	}
	l.cause = err
	if n > 0 && l.f.Truncate(l.size) != nil {
		l.size += int64(n) // a torn record stays; readers skip it
	}
	return false
}

// ensureOpen ensures an open file with room for more bytes.
func (l *logFile) ensureOpen(more int64) bool {
	if l.f != nil && !l.empty && l.size+more > l.maxSize {
		l.rotate()
	}
	if l.f == nil && l.now().Sub(l.triedAt) >= reopenDelay {
		l.open()
	}
	return l.f != nil
}

// open opens the file for appending. Its lock keeps Store.Prune from removing a log in use.
func (l *logFile) open() {
	l.triedAt = l.now()
	err := os.MkdirAll(filepath.Dir(l.path), 0o700)
	if err == nil {
		l.f, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	if err != nil {
		l.f, l.cause = nil, err
		return
	}
	syscall.Flock(int(l.f.Fd()), syscall.LOCK_SH)
	l.size, l.empty = 0, true
	l.resume()
	if l.size > 0 || l.base == 0 {
		return
	}
	head := record.AppendBase(nil, l.base)
	if n, err := l.f.Write(head); err != nil { // a file that does not say what came before it would pass for the first
		if n > 0 {
			l.f.Truncate(0)
		}
		l.close()
		l.cause = err
		return
	}
	l.size = int64(len(head))
}

// rotate renames the files by one and starts a new one. The oldest is removed when there are enough; a gap that was left in their
// numbers is filled.
func (l *logFile) rotate() {
	l.base += l.size
	l.close()
	if l.maxFiles == 1 {
		os.Remove(l.path)
	}
	last := 1
	for last < l.maxFiles-1 {
		if _, err := os.Lstat(l.rotated(last)); err != nil {
			break
		}
		last++
	}
	for i := min(last, l.maxFiles-1); i > 0; i-- {
		if err := os.Rename(l.rotated(i-1), l.rotated(i)); err != nil && !errors.Is(err, os.ErrNotExist) {
			l.cause = err
		}
	}
	l.open()
}

// rotated is the path of a rotated file; 0 is the current one.
func (l *logFile) rotated(i int) string {
	if i == 0 {
		return l.path
	}
	return l.path + "." + strconv.Itoa(i)
}

func (l *logFile) close() {
	if l.f != nil {
		l.f.Close()
		l.f = nil
	}
}

// writeNotice writes a fact for the readers of the log into a file beside it: the log group, without which the log is kept for the usual time,
// and the pattern of the first lines of its records, without which each line is one.
func (l *logFile) writeNotice(suffix, text string) {
	if text == "" {
		return
	}
	path := strings.TrimSuffix(l.path, ".log") + suffix
	if _, err := os.Lstat(path); err == nil {
		return
	}
	_ = os.WriteFile(path, []byte(text), 0o600)
}
