package main

import (
	"bytes"
	"io"
	"os"
	"time"

	"pinion/node/logs/record"
)

// resume continues in the open file: it ends a record that a crash tore off, so that the next one begins a line, and takes over
// the last time stamp.
func (l *logFile) resume() {
	size, err := l.f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return
	}
	l.base = baseOf(l.path)
	last, ended := lastRecord(l.path, size)
	l.empty = last == nil
	if !ended {
		if n, err := l.f.Write([]byte{'\n'}); err == nil {
			size += int64(n)
		}
	}
	l.size = size
	l.continueFrom(last)
}

// baseOf is the number of bytes of the log before the file.
func baseOf(path string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	var head [32]byte
	n, _ := f.ReadAt(head[:], 0)
	base, _ := record.Base(head[:bytes.IndexByte(head[:n], '\n')+1])
	return base
}

// continueFrom takes over the time stamp of a record; nil when there is none.
func (l *logFile) continueFrom(last []byte) {
	if at, known := record.Time(last); known && at.After(l.last) {
		l.last = at
	}
}

// maxRecord bounds a record in bytes: in one of an older logger each byte of the text took up to six.
const maxRecord = 8 * record.MaxText

// lastRecord returns the last whole record of a file, and whether the file ends with a line end. It reads little more than the
// longest record has.
func lastRecord(path string, size int64) (last []byte, ended bool) {
	f, err := os.Open(path) // the log itself is open for writing only
	if err != nil {
		return nil, true
	}
	defer f.Close()
	for block := int64(4 << 10); ; block = min(block*8, maxRecord) {
		end := make([]byte, min(size, block))
		if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
			return nil, true
		}
		ended = end[len(end)-1] == '\n'
		for rest := end; len(rest) > 0; {
			begin := bytes.LastIndexByte(rest[:len(rest)-1], '\n') + 1
			if line := rest[begin:]; record.IsWhole(line) {
				return line, ended
			}
			rest = rest[:begin]
		}
		if int64(len(end)) == size || block == maxRecord {
			return nil, ended
		}
	}
}

// stamp is the time of the next lines. Readers search a log by time, so stamps never decrease: after the host's clock was set
// back, the lines have the stamps right after the last one until the clock is there again.
func (l *logFile) stamp() time.Time {
	now := l.now().Round(0) // without the monotonic clock, which is not in the file
	if now.Before(l.last) {
		now = l.last.Add(1)
	}
	l.last = now
	return now
}
