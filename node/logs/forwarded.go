package logs

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"pinion/node/logs/record"
	"pinion/packaging/atomicfile"
)

// Files beside the log of a container whose lines are sent elsewhere: where to, how far, and what its forwarder has to say. The last is
// a log of its own, whose lines are shown among those of the container.
const (
	forwardSuffix  = ".forward"
	positionSuffix = ".sent"
)

// ForwardedLog names a container whose lines are sent elsewhere, by the names of its files: those are what a restart of the agent finds.
type ForwardedLog struct{ Task, Container string }

// ForwardedLogOf makes the ForwardedLog of a container, by its name.
func ForwardedLogOf(task, container string) ForwardedLog {
	return ForwardedLog{fileName(task), fileName(container)}
}

// WriteForwardRecord keeps the destination of a container's lines, before its logger starts.
func (s *Store) WriteForwardRecord(of ForwardedLog, note []byte) error {
	path := s.beside(of, forwardSuffix)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Replace(path, note, 0o600)
}

// ReadForwardRecord reads the note that WriteForwardRecord kept.
func (s *Store) ReadForwardRecord(of ForwardedLog) ([]byte, error) {
	return os.ReadFile(s.beside(of, forwardSuffix))
}

// RemoveForwardRecord removes the note that WriteForwardRecord kept: the log is sent to its end.
func (s *Store) RemoveForwardRecord(of ForwardedLog) error {
	return ignoreMissing(os.Remove(s.beside(of, forwardSuffix)))
}

// OpenPosition opens the file with the position up to which the lines of a container were sent.
func (s *Store) OpenPosition(of ForwardedLog) (*os.File, error) {
	return os.OpenFile(s.beside(of, positionSuffix), os.O_RDWR|os.O_CREATE, 0o600)
}

// ForwardedLogs are the containers with logs here whose lines are sent elsewhere.
func (s *Store) ForwardedLogs() (all []ForwardedLog, err error) {
	tasks, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	for _, task := range tasks {
		files, _ := os.ReadDir(filepath.Join(s.dir, task.Name()))
		for _, f := range files {
			if container, is := strings.CutSuffix(f.Name(), forwardSuffix); is {
				all = append(all, ForwardedLog{task.Name(), container})
			}
		}
	}
	return all, nil
}

// beside is the path of a file beside the log of a container.
func (s *Store) beside(of ForwardedLog, suffix string) string {
	return strings.TrimSuffix(s.Path(of.Task, of.Container), ".log") + suffix
}

// maxSaid bounds one of the two files of a forwarder's own messages, in bytes.
const maxSaid = 64 << 10

// AppendForwardMessage adds a line to the log of a container that its forwarder has to say: why lines are not sent, and which never will be.
func (s *Store) AppendForwardMessage(of ForwardedLog, text string) error {
	path := s.beside(of, forwardSuffix+".log")
	if info, err := os.Stat(path); err == nil && info.Size() > maxSaid {
		_ = os.Rename(path, path+".1")
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(record.Append(nil, record.Record{Time: time.Now(), Stream: "stderr", Text: []byte(text)}))
	return err
}
