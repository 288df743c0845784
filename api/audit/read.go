package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Read calls emit for the entries in a directory since a time, the oldest first. A line that is cut short or damaged is skipped and counted.
func Read(dir string, since time.Time, emit func(Entry) error) (damaged int, err error) {
	for n := MaxFiles - 1; n >= 0; n-- {
		bad, err := readFile(numbered(filepath.Join(dir, fileName), n), since, emit)
		if damaged += bad; err != nil {
			return damaged, err
		}
	}
	return damaged, nil
}

func readFile(path string, since time.Time, emit func(Entry) error) (damaged int, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e Entry
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			damaged++
			continue
		}
		if e.Time.Before(since) && e.Until.Before(since) {
			continue
		}
		if err := emit(e); err != nil {
			return damaged, err
		}
	}
	return damaged, lines.Err()
}
