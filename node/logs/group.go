package logs

import (
	"io/fs"
	"os"
	"strings"
	"time"
)

// groupSuffix ends the name of the file in which a logger notes the log group of its container.
const groupSuffix = ".group"

// keptFor is how long the logs of a task are kept: the longest retention of its containers' log groups. Where the groups say nothing,
// or are not known, it is Retention.
func (s *Store) keptFor(root *os.Root, task string) time.Duration {
	entries, err := fs.ReadDir(root.FS(), task)
	if err != nil || s.GroupRetention == nil {
		return Retention
	}
	longest := time.Duration(0)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), groupSuffix) {
			continue
		}
		kept := Retention
		if group, err := fs.ReadFile(root.FS(), task+"/"+e.Name()); err == nil {
			if chosen := s.GroupRetention(string(group)); chosen > 0 {
				kept = chosen
			}
		}
		longest = max(longest, kept)
	}
	if longest == 0 {
		return Retention
	}
	return longest
}
