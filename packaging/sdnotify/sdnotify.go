// Package sdnotify tells systemd how a service of Type=notify is: that its start goes on, that it is ready, that it lives, that it ends. Where
// systemd has not started the process, nothing is told. See sd_notify(3).
package sdnotify

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// While a start goes on, systemd is told every extendEvery that it may take extendBy longer. A start has no limit of its own: a host that
// joins waits for its pool as long as that is away.
const (
	extendEvery = 15 * time.Second
	extendBy    = time.Minute
)

// Service is this process as systemd knows it. Its methods may be called at the same time.
type Service struct {
	log   *slog.Logger
	ready func() // ends the extensions
}

// Starting tells systemd that the start goes on, until Ready, Stopping or the end of ctx.
func Starting(ctx context.Context, log *slog.Logger) *Service {
	ctx, cancel := context.WithCancel(ctx)
	s := &Service{log: log, ready: sync.OnceFunc(cancel)}
	if s.send(extension()) {
		go s.extend(ctx)
	}
	return s
}

func extension() string { return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", extendBy.Microseconds()) }

func (s *Service) extend(ctx context.Context) {
	again := time.NewTicker(extendEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			s.send(extension())
		case <-ctx.Done():
			return
		}
	}
}

// Status sets the line that `systemctl status` shows.
func (s *Service) Status(text string) { s.send("STATUS=" + text) }

// Ready tells that the service serves. Units ordered after this one start now, and the watchdog counts from now on.
func (s *Service) Ready() {
	s.ready()
	s.send(daemon.SdNotifyReady)
}

// Stopping tells that the service ends.
func (s *Service) Stopping() {
	s.ready()
	s.send(daemon.SdNotifyStopping)
}

// Reloading tells that the service ends and starts anew in the same process, which is Ready later. It is no stop, after which systemd would end the
// process.
func (s *Service) Reloading() {
	s.ready()
	s.send(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
}

// Watch tells systemd that the service lives, four times in WatchdogSec, until ctx ends; without a watchdog it returns at once. alive is
// asked each time, on this goroutine: while it does not return, or returns an error, systemd hears nothing, and kills the service when WatchdogSec is over.
func (s *Service) Watch(ctx context.Context, alive func(context.Context) error) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("the watchdog of systemd cannot be told that this host lives", "error", err)
	}
	if limit <= 0 {
		return
	}
	again := time.NewTicker(limit / 4)
	defer again.Stop()
	for {
		if err := alive(ctx); err == nil {
			s.send(daemon.SdNotifyWatchdog)
		} else if ctx.Err() == nil {
			s.log.Warn("this host does not answer itself: systemd starts it again if that lasts", "limit", limit, "error", err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// send reports whether there is a systemd that was told.
func (s *Service) send(state string) bool {
	told, err := daemon.SdNotify(false, state)
	if err != nil {
		s.log.Warn("telling systemd", "state", state, "error", err)
	}
	return told
}
