package main

import (
	"errors"
	"syscall"
	"time"
)

// roomStep is the number of bytes written between two looks at the free space. Every logger of the host may be this far below the floor.
const roomStep = 1 << 20

var errFloor = errors.New("the host's disk is nearly full (pinion up --min-free)")

// hasRoom reports whether more bytes may be written: the floor of the disk stays free for what must go on, the pool's state
// first. The log says where it stops.
func (l *logFile) hasRoom(at time.Time, more int64) bool {
	if l.floor == 0 {
		return true
	}
	if l.room < more {
		needed := more
		if l.stopped {
			needed += l.floor / 8 // not back and forth with each line
		}
		if l.room = freeSpace(l.f.Fd()) - l.floor; l.room < needed {
			l.stop(at)
			return false
		}
		l.room = min(l.room, max(roomStep, more))
	}
	l.stopped = false
	l.room -= more
	return true
}

// stop writes into the log that it stops here.
func (l *logFile) stop(at time.Time) {
	l.room, l.cause = 0, errFloor
	if !l.stopped {
		l.stopped = true
		l.append(ownLine(at, "pinion: the log stops here for now, the container runs on: "+errFloor.Error()))
	}
}

// freeSpace is the space for users on the file system of an open file; everything when it is not known.
func freeSpace(fd uintptr) int64 {
	var stat syscall.Statfs_t
	if syscall.Fstatfs(int(fd), &stat) != nil {
		return 1<<63 - 1
	}
	return int64(stat.Bavail) * int64(stat.Bsize)
}
