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

// Forwarded names a container whose lines are sent elsewhere, by the names of its files: those are what a restart of the agent finds.
type Forwarded struct{ Task, Container string }

// ForwardedOf makes the Forwarded of a container, by its name.
func ForwardedOf(task, container string) Forwarded {
	return Forwarded{fileName(task), fileName(container)}
}

// NoteForward keeps the destination of a container's lines, before its logger starts.
func (s *Store) NoteForward(of Forwarded, note []byte) error {
	path := s.beside(of, forwardSuffix)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Replace(path, note, 0o600)
}

// ForwardNote reads the note that NoteForward kept.
func (s *Store) ForwardNote(of Forwarded) ([]byte, error) {
	return os.ReadFile(s.beside(of, forwardSuffix))
}

// ForgetForward removes the note that NoteForward kept: the log is sent to its end.
func (s *Store) ForgetForward(of Forwarded) error {
	return ignoreMissing(os.Remove(s.beside(of, forwardSuffix)))
}

// OpenPosition opens the file with the position up to which the lines of a container were sent.
func (s *Store) OpenPosition(of Forwarded) (*os.File, error) {
	return os.OpenFile(s.beside(of, positionSuffix), os.O_RDWR|os.O_CREATE, 0o600)
}

// AllForwarded are the containers with logs here whose lines are sent elsewhere.
func (s *Store) AllForwarded() (all []Forwarded, err error) {
	tasks, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	for _, task := range tasks {
		files, _ := os.ReadDir(filepath.Join(s.dir, task.Name()))
		for _, f := range files {
			if container, is := strings.CutSuffix(f.Name(), forwardSuffix); is {
				all = append(all, Forwarded{task.Name(), container})
			}
		}
	}
	return all, nil
}

// beside is the path of a file beside the log of a container.
func (s *Store) beside(of Forwarded, suffix string) string {
	return strings.TrimSuffix(s.Path(of.Task, of.Container), ".log") + suffix
}

// maxSaid bounds one of the two files of a forwarder's own messages, in bytes.
const maxSaid = 64 << 10

// SayForward adds a line to the log of a container that its forwarder has to say: why lines are not sent, and which never will be.
func (s *Store) SayForward(of Forwarded, text string) error {
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
