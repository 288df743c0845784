package logdriver

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"pinion/raftfsm/lazyregexp"
)

const (
	// MaxBytes bounds what a definition may ask for as the log of one container: max-size times max-file. Hosts bound it
	// further.
	MaxBytes = 16 << 30
	// MaxFiles bounds max-file: a rotation renames each file.
	MaxFiles = 1000
)

// Of a container whose definition does not say.
const (
	DefaultSize  = 64 << 20 // bytes of one file
	DefaultFiles = 4
)

// Rotation are the bounds of a container's log.
type Rotation struct {
	MaxSize  int64 // bytes of one file
	MaxFiles int   // the current one included
}

// Bytes returns the largest size of the log.
func (r Rotation) Bytes() int64 { return r.MaxSize * int64(r.MaxFiles) }

// minFile is the least size that Within makes a file.
const minFile = 64 << 10

// Within is the rotation with as many bytes at most: with smaller files, and fewer when they would get too small.
func (r Rotation) Within(bytes int64) Rotation {
	if r.Bytes() <= bytes {
		return r
	}
	r.MaxFiles = int(max(1, min(int64(r.MaxFiles), bytes/minFile)))
	r.MaxSize = max(1, min(r.MaxSize, bytes/int64(r.MaxFiles)))
	return r
}

// Rotation are the bounds of the container's log that its definition asks for.
func (l *Configuration) Rotation() (Rotation, error) {
	r := Rotation{DefaultSize, DefaultFiles}
	if l == nil || l.Routed() { // whose options are the router's
		return r, nil
	}
	var err error
	if text := l.Options[optionMaxSize]; text != "" {
		if r.MaxSize, err = parseLogSize(text); err != nil {
			return r, fmt.Errorf("log option %s: %w", optionMaxSize, err)
		}
	}
	if text := l.Options[optionMaxFile]; text != "" {
		if r.MaxFiles, err = strconv.Atoi(text); err != nil || r.MaxFiles < 1 || r.MaxFiles > MaxFiles {
			return r, fmt.Errorf("log option %s: %q is not a number of files from 1 to %d", optionMaxFile, text, MaxFiles)
		}
	}
	if r.Bytes() > MaxBytes {
		return r, fmt.Errorf("log options %s times %s are more than %d GiB, which is the most for one container", optionMaxSize, optionMaxFile, MaxBytes>>30)
	}
	return r, nil
}

var sizeForm = lazyregexp.New(`^([1-9][0-9]{0,8})([kmgt]?)b?$`)

// ParseSize reads a size as docker writes it: "10m", "1g", "500k", or bytes.
func ParseSize(text string) (int64, error) {
	parts := sizeForm.FindStringSubmatch(strings.ToLower(text))
	if parts == nil {
		return 0, fmt.Errorf("%q is not a size such as 10m or 1g", text)
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	shift := map[string]int{"k": 10, "m": 20, "g": 30, "t": 40}[parts[2]]
	if n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is too large a size", text)
	}
	return n << shift, err
}

// parseLogSize reads the size of one log file.
func parseLogSize(text string) (int64, error) {
	n, err := ParseSize(text)
	if err == nil && n > MaxBytes {
		err = fmt.Errorf("%q is more than %d GiB, which is the most for one container", text, MaxBytes>>30)
	}
	return n, err
}
