package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"pinion/api/httpx"
)

// shutdownTimeout is how long the requests in flight may take to end when the host stops.
const shutdownTimeout = 5 * time.Second

// Serve answers requests on one listener until ctx is cancelled. Requests in flight are then given shutdownTimeout to end,
// and streams are broken off. Clients that are too slow or send too much are disconnected at any time.
func Serve(ctx context.Context, l net.Listener, c Config) error {
	// No ReadTimeout: it would end a followed log. The body has a deadline of its own (see httpx.Limits).
	s := &http.Server{
		Handler: newHandler(c, ctx.Done()), ReadHeaderTimeout: httpx.HeaderTimeout, IdleTimeout: httpx.IdleTimeout, MaxHeaderBytes: httpx.MaxHeader,
		HTTP2:    httpx.HTTP2,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		timeout, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if s.Shutdown(timeout) != nil {
			s.Close()
		}
	})
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fmt.Errorf("serving %s: %w", l.Addr(), err)
	}
	<-ended
	return nil
}

// ListenLocal opens the unix socket that only root can use; requests through it need no signature. It takes the
// place of what a host that ended left behind. At no moment can anyone else connect to it.
func ListenLocal(path string) (net.Listener, error) {
	// The socket is made in a directory of root's own, because until chmod its mode is up to the umask.
	private, err := os.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return nil, fmt.Errorf("local socket: %w", err)
	}
	defer os.RemoveAll(private)
	fresh := filepath.Join(private, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("local socket (a path of more than 100 characters is too long for one): %w", err)
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(fresh, 0o600), os.Rename(fresh, path)); err != nil {
		l.Close()
		return nil, fmt.Errorf("local socket: %w", err)
	}
	return l, nil
}
