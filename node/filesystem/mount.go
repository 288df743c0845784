package filesystem

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/sys/mountinfo"

	"pinion/node/volume"
	"pinion/packaging/backoff"
	"pinion/raftfsm/filesystem"
)

const (
	// mountTimeout bounds how long a task waits for its file system to be mounted, and openTimeout for the directory in it to be opened. A server
	// that answers needs less than a second for either.
	mountTimeout = time.Minute
	openTimeout  = 20 * time.Second
	// killGrace is the further wait of a task for a mount program that was killed, to learn its outcome.
	killGrace = 2 * time.Second
	// unmountTimeout bounds how long the end of a task waits for the file system.
	unmountTimeout = 20 * time.Second
	// busyAttempts and busyPause are how often and how far apart a busy file system is tried again before it is unmounted lazily.
	busyAttempts = 5
	busyPause    = 500 * time.Millisecond
	// maxStacked bounds how many mounts at one point are unmounted: a process that was killed may have left one that was under way.
	maxStacked = 8
	// mandatoryOptions go first, so that the operator's own may say otherwise.
	mandatoryOptions = "nosuid,nodev"
)

// mount is one file system of the host. At most one thing at a time is done with it, and that one goes on when nobody waits for it any more:
// what hangs in the kernel cannot be ended. So a server that hangs costs one process or thread of the host, and the tasks that want the file system.
type mount struct {
	filesystem.FileSystem
	config *Config
	point  string
	busy   chan struct{} // holds a value while something is done with the file system

	mu    sync.Mutex
	users map[string]bool // ids of the tasks that use it
}

// use notes that the task uses the file system.
func (m *mount) use(task string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users[task] = true
}

// release notes that the task does not use it any more, and unmounts it when that was the last one. It waits for unmountTimeout at most; what is
// not done by then is done as soon as the server answers.
func (m *mount) release(ctx context.Context, task string) {
	m.mu.Lock()
	delete(m.users, task)
	m.mu.Unlock()
	m.unmountUnused(ctx)
}

func (m *mount) used() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.users) > 0
}

// unmountUnused unmounts the file system when nobody uses it.
func (m *mount) unmountUnused(ctx context.Context) {
	if m.used() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, unmountTimeout)
	defer cancel()
	if _, err := m.alone(ctx, func() (*os.File, error) { return nil, nil }); err != nil {
		m.config.Log.Warn("a file system that no task uses is not unmounted yet", "fileSystem", m.Name, "error", err)
	}
}

// ready mounts the file system unless it is mounted.
func (m *mount) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.config.Timeout+killGrace)
	defer cancel()
	_, err := m.alone(ctx, func() (*os.File, error) { return nil, m.mountNow() })
	return err
}

// open opens a path of the file system, which is mounted.
func (m *mount) open(below string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	return m.alone(ctx, func() (*os.File, error) {
		file, err := volume.At(m.point, below, m.Name).Open()
		if err == nil {
			if err = m.holds(file); err != nil {
				file.Close()
			}
		}
		return file, err
	})
}

// result is the outcome of an operation on a file system.
type result struct {
	file *os.File
	err  error
}

// alone does f when nothing else is done with the file system, unmounts that when nobody uses it then, and returns what f has returned. When ctx ends
// it does not wait on; a file that f opens later is closed.
func (m *mount) alone(ctx context.Context, f func() (*os.File, error)) (*os.File, error) {
	select {
	case m.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, m.silent(ctx)
	}
	done := make(chan result)
	go func() {
		file, err := f()
		if !m.used() {
			m.unmountNow()
		}
		<-m.busy
		select {
		case done <- result{file, err}:
		case <-ctx.Done():
			if file != nil {
				file.Close()
			}
		}
	}()
	select {
	case r := <-done:
		return r.file, r.err
	case <-ctx.Done():
		return nil, m.silent(ctx)
	}
}

// silent is why something with the file system was not done before ctx ended.
func (m *mount) silent(ctx context.Context) error {
	if ctx.Err() == context.Canceled {
		return ctx.Err()
	}
	return fmt.Errorf("the file system %s does not answer: see on host %s whether its server can be reached, and run the task again", m.Name, m.config.Host)
}

// mountNow mounts the file system unless it is mounted.
func (m *mount) mountNow() error {
	if mounted, err := m.mounted(); err != nil || mounted > 0 {
		return err
	}
	if err := os.MkdirAll(m.point, 0o700); err != nil {
		return fmt.Errorf("the mount point of the file system %s: %w", m.Name, err)
	}
	options := strings.Join(append([]string{mandatoryOptions}, m.Options...), ",")
	if said, err := run(m.config.Mount, m.config.Timeout, "-t", m.Type, "-o", options, "--", m.Source, m.point); err != nil {
		return fmt.Errorf("the file system %s cannot be mounted on host %s: %w: %s", m.Name, m.config.Host, err, m.redact(said))
	}
	mounted, err := m.mounted()
	if err == nil && mounted == 0 {
		err = fmt.Errorf("the file system %s is not there on host %s: mount has said that it was mounted: look what program mounts type %s", m.Name, m.config.Host, m.Type)
	}
	if err == nil {
		m.config.Log.Info("a file system was mounted", "fileSystem", m.Name, "mountpoint", m.point)
	}
	return err
}

// unmountNow unmounts the file system and removes its mount point. One that stays busy is unmounted lazily: it goes when the last process of the
// host leaves it.
func (m *mount) unmountNow() {
	for range maxStacked {
		mounted, err := m.mounted()
		if err != nil {
			m.config.Log.Warn("which file systems are mounted is not known", "error", err)
			return
		}
		if mounted == 0 {
			break
		}
		if said, err := m.unmount(); err != nil {
			m.config.Log.Warn("a file system cannot be unmounted: unmount it by hand", "fileSystem", m.Name, "mountpoint", m.point, "error", err, "umount", m.redact(said))
			return
		}
	}
	if err := os.Remove(m.point); err != nil && !os.IsNotExist(err) { // never what is in it
		m.config.Log.Warn("the mount point of a file system cannot be removed", "mountpoint", m.point, "error", err)
	}
}

func (m *mount) unmount() (said string, err error) {
	for attempt := range busyAttempts {
		if attempt > 0 {
			_ = backoff.Sleep(context.Background(), busyPause)
		}
		if said, err = run(m.config.Unmount, unmountTimeout, m.point); err == nil {
			m.config.Log.Info("a file system was unmounted", "fileSystem", m.Name, "mountpoint", m.point)
			return "", nil
		}
	}
	m.config.Log.Warn("a file system is busy, or does not answer, and is unmounted lazily: it goes when nothing uses it any more", "fileSystem", m.Name, "mountpoint", m.point, "error", err, "umount", m.redact(said))
	return run(m.config.Unmount, unmountTimeout, "-l", m.point)
}

// mounted counts the kernel's mounts at the mount point, one over the other. It does not ask the server.
func (m *mount) mounted() (int, error) {
	found, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(m.point))
	return len(found), err
}

// holds checks that the open file is in the file system, and not in the empty directory that it is mounted at.
func (m *mount) holds(file *os.File) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", file.Fd()))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		value, is := strings.CutPrefix(line, "mnt_id:")
		if !is {
			continue
		}
		id, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return err
		}
		found, err := mountinfo.GetMounts(func(i *mountinfo.Info) (skip, stop bool) {
			return i.ID != id || i.Mountpoint != m.point && !strings.HasPrefix(i.Mountpoint, m.point+"/"), false
		})
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("the file system %s is not mounted any more", m.Name)
		}
		return err
	}
	return fmt.Errorf("the kernel does not say in which file system a file is")
}

// maxTold bounds the quotation of a program's output, in bytes.
const maxTold = 512

// redact removes possible logins from a program's output, and cuts it then.
func (m *mount) redact(said string) string {
	hidden := []string{m.Source, strings.Join(strings.Fields(m.Source), " ")}
	if login, _, has := strings.Cut(m.Source, "@"); has {
		hidden = append(hidden, login[strings.LastIndex(login, "/")+1:])
	}
	for _, text := range hidden {
		if text != "" {
			said = strings.ReplaceAll(said, text, "SOURCE")
		}
	}
	for _, o := range m.Options {
		if _, value, has := strings.Cut(o, "="); has && value != "" {
			said = strings.ReplaceAll(said, o, "OPTION")
		}
	}
	return said[:min(len(said), maxTold)]
}
