package spec

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

const (
	// MaxLogTail is the longest tail of a log that is read for one request: as many lines as CloudWatch Logs answers with.
	MaxLogTail = 10_000
	// MaxLogBytes bounds what a definition may ask for as the log of one container: max-size times max-file. Hosts bound it
	// further.
	MaxLogBytes = 16 << 30
	// MaxLogFiles bounds max-file: a rotation renames each file.
	MaxLogFiles = 1000
)

// Of a container whose definition does not say.
const (
	DefaultLogSize  = 64 << 20 // bytes of one file
	DefaultLogFiles = 4
)

// LogRotation are the bounds of a container's log.
type LogRotation struct {
	MaxSize  int64 // bytes of one file
	MaxFiles int   // the current one included
}

// Bytes is how large the log can become.
func (r LogRotation) Bytes() int64 { return r.MaxSize * int64(r.MaxFiles) }

// minLogFile is the least size that Within makes a file.
const minLogFile = 64 << 10

// Within is the rotation with as many bytes at most: with smaller files, and fewer when they would get too small.
func (r LogRotation) Within(bytes int64) LogRotation {
	if r.Bytes() <= bytes {
		return r
	}
	r.MaxFiles = int(max(1, min(int64(r.MaxFiles), bytes/minLogFile)))
	r.MaxSize = max(1, min(r.MaxSize, bytes/int64(r.MaxFiles)))
	return r
}

// Rotation are the bounds of the container's log that its definition asks for.
func (l *LogConfiguration) Rotation() (LogRotation, error) {
	r := LogRotation{DefaultLogSize, DefaultLogFiles}
	if l == nil {
		return r, nil
	}
	var err error
	if text := l.Options[optionMaxSize]; text != "" {
		if r.MaxSize, err = parseLogSize(text); err != nil {
			return r, fmt.Errorf("log option %s: %w", optionMaxSize, err)
		}
	}
	if text := l.Options[optionMaxFile]; text != "" {
		if r.MaxFiles, err = strconv.Atoi(text); err != nil || r.MaxFiles < 1 || r.MaxFiles > MaxLogFiles {
			return r, fmt.Errorf("log option %s: %q is not a number of files from 1 to %d", optionMaxFile, text, MaxLogFiles)
		}
	}
	if r.Bytes() > MaxLogBytes {
		return r, fmt.Errorf("log options %s times %s are more than %d GiB, which is the most for one container", optionMaxSize, optionMaxFile, MaxLogBytes>>30)
	}
	return r, nil
}

var sizeForm = regexp.MustCompile(`^([1-9][0-9]{0,8})([kmgt]?)b?$`)

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
	if err == nil && n > MaxLogBytes {
		err = fmt.Errorf("%q is more than %d GiB, which is the most for one container", text, MaxLogBytes>>30)
	}
	return n, err
}
