package firelens

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// listen is a socket that somebody listens at.
func listen(t *testing.T, path string) net.Listener {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// short is a directory whose name leaves room for a socket.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "firelens")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestTheSocketOfARouter(t *testing.T) {
	dir := short(t)
	if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNotListening) {
		t.Errorf("without a directory: %v", err)
	}
	if err := os.MkdirAll(socketDir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNotListening) {
		t.Errorf("without a socket: %v", err)
	}
	l := listen(t, filepath.Join(socketDir(dir), socketName))
	conn, err := Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNotListening) {
		t.Errorf("of a router that has ended: %v", err)
	}
}

// A router that plants something else in place of its socket leads the host nowhere.
func TestARouterLeadsItsHostNowhere(t *testing.T) {
	own := short(t)
	target := filepath.Join(own, "host.sock")
	l := listen(t, target)
	accepted := make(chan struct{}, 16)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
			accepted <- struct{}{}
		}
	}()
	for name, plant := range map[string]func(dir, path string) error{
		"a link to a socket of the host": func(_, path string) error { return os.Symlink(target, path) },
		"a relative link":                func(dir, path string) error { rel, _ := filepath.Rel(dir, target); return os.Symlink(rel, path) },
		"a link to a link": func(dir, path string) error {
			return errors.Join(os.Symlink(target, filepath.Join(dir, "b")), os.Symlink("b", path))
		},
		"a link of procfs": func(_, path string) error { return os.Symlink("/proc/self/root"+target, path) },
		"a link to itself": func(_, path string) error { return os.Symlink(socketName, path) },
		"a file":           func(_, path string) error { return os.WriteFile(path, nil, 0o666) },
		"a directory":      func(_, path string) error { return os.Mkdir(path, 0o777) },
		"a directory that is a link": func(dir, _ string) error {
			return errors.Join(os.Rename(target, filepath.Join(own, socketName)), os.Remove(dir), os.Symlink(own, dir), os.Link(filepath.Join(own, socketName), target))
		},
	} {
		dir := short(t)
		if err := os.MkdirAll(socketDir(dir), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := plant(socketDir(dir), filepath.Join(socketDir(dir), socketName)); err != nil {
			t.Fatal(name, err)
		}
		if conn, err := Dial(t.Context(), dir); err == nil {
			conn.Close()
			t.Errorf("%s is the socket of a router", name)
		}
	}
	if len(accepted) > 0 {
		t.Error("the host was led to a socket of its own")
	}
}
