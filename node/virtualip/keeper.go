package virtualip

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"pinion/node/machine"
	"pinion/packaging/tick"
	"pinion/raftfsm/iplease"
)

const (
	// askInterval is the time between two requests for an address: many within a lease.
	askInterval = 400 * time.Millisecond
	// askTimeout bounds the wait for an answer.
	askTimeout = time.Second
	// retryInterval is the time between two tries of a host that cannot hold an address.
	retryInterval = 10 * time.Second
	// minLifetime is the least that the kernel counts.
	minLifetime = time.Second
	// announcements is the number of times that a host announces an address to its network, once with each renewal: one may be lost.
	announcements = 5
)

// Control asks the leader.
type Control interface {
	// AskVirtualIP asks whether the host holds a virtual IP. It may be repeated.
	AskVirtualIP(ctx context.Context, hostID string, r iplease.Request) (iplease.Answer, error)
}

// Device is the network device of an address that this host has, or could have.
type Device interface {
	// Check fails when this host cannot take the address: it has no device for it, or another machine has the address (ErrTaken).
	Check(ctx context.Context) error
	// Take adds the address for so long: the kernel removes it then, whatever becomes of this process. ErrTaken as of Check.
	Take(ctx context.Context, lifetime time.Duration) error
	// Extend has the kernel remove the address so much later from now.
	Extend(lifetime time.Duration) error
	// Announce tells the network that the address is here.
	Announce() error
	// Remove removes the address, if it is there and has a lifetime.
	Remove() error
}

// Config has the dependencies of keepers. All fields are required.
type Config struct {
	HostID  string
	Starts  int64 // Host.Starts of this process
	Control Control
	Device  func(iplease.Offer) Device
	// Problem takes why this host cannot hold an address; empty: it can.
	Problem func(ip, problem string)
	// Boot measures leases. It goes on while the machine sleeps, so that one that wakes up has lost its addresses.
	Boot machine.BootClock
	Log  *slog.Logger
}

// Run keeps the addresses until ctx ends, and gives them up then.
func Run(ctx context.Context, c Config, offered []iplease.Offer) {
	var keepers sync.WaitGroup
	for _, v := range offered {
		k := &keeper{Config: c, ip: v.IP, device: c.Device(v), log: c.Log.With("ip", v.IP)}
		keepers.Go(func() { k.run(ctx) })
	}
	keepers.Wait()
}

// keeper keeps one address. One goroutine uses it.
type keeper struct {
	Config
	ip     string
	device Device
	log    *slog.Logger

	held     int64         // the epoch under which the device has the address; 0: it has it not
	until    time.Duration // since boot: the lease ends
	released int64         // the latest epoch that was given up
	announce int           // announcements that are left
	problem  error         // why this host cannot hold the address
	tried    time.Duration // since boot: when the problem was found
}

func (k *keeper) run(ctx context.Context) {
	k.remove() // what an earlier process has left
	k.check(ctx)
	ticker := tick.New(askInterval)
	defer ticker.Stop()
	for {
		k.step(ctx)
		select {
		case <-ctx.Done():
			k.giveBack()
			return
		case <-ticker.C:
		}
	}
}

// step asks once, and does what follows.
func (k *keeper) step(ctx context.Context) {
	asked := k.Boot.Since()
	answer, err := k.ask(ctx)
	switch {
	case err != nil:
		k.log.Debug("the leader does not say who holds a virtual IP", "error", err)
	case answer.Epoch == 0 || answer.Epoch == k.released:
		k.yield(ctx)
	default:
		k.hold(ctx, answer.Epoch, asked+iplease.Duration)
	}
	if k.held != 0 && k.Boot.Since() >= k.until {
		k.log.Warn("this host takes a virtual IP off: the leader has not renewed its lease")
		k.remove()
	}
	k.mend(ctx, answer.Elsewhere)
}

// ask asks whether this host holds the address, for no longer than a lease lasts.
func (k *keeper) ask(ctx context.Context) (iplease.Answer, error) {
	timeout := askTimeout
	if k.held != 0 {
		timeout = max(0, min(timeout, k.until-k.Boot.Since()))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return k.Control.AskVirtualIP(ctx, k.HostID, iplease.Request{IP: k.ip, Starts: k.Starts, Held: k.held, Released: k.released})
}

// yield gives the address up, and tells the leader, which waits for that to give it to another host.
func (k *keeper) yield(ctx context.Context) {
	if k.held == 0 {
		return
	}
	epoch := k.held
	if !k.remove() {
		return // it is said again, and the kernel removes the address when nobody extends it
	}
	k.log.Info("this host has given a virtual IP up")
	k.released = epoch
	_, _ = k.ask(ctx)
}

// hold has the address until the lease ends.
func (k *keeper) hold(ctx context.Context, epoch int64, until time.Duration) {
	if k.held == 0 {
		k.take(ctx, epoch, until)
		return
	}
	left := until - k.Boot.Since()
	if left < minLifetime {
		return // the answer was long on its way: the next one may be in time
	}
	if err := k.device.Extend(left); err != nil {
		k.refuse(epoch, err)
		return
	}
	k.held, k.until = epoch, until
	k.sendAnnouncement()
}

// take has the address from now on, unless another machine has it.
func (k *keeper) take(ctx context.Context, epoch int64, until time.Duration) {
	err := k.device.Check(ctx)
	if err == nil {
		left := until - k.Boot.Since()
		if left < minLifetime {
			return
		}
		err = k.device.Take(ctx, left)
	}
	switch {
	case err == nil:
		k.held, k.until, k.announce = epoch, until, announcements
		k.log.Info("this host has a virtual IP now", "epoch", epoch)
		k.mended()
		k.sendAnnouncement()
	case ctx.Err() == nil:
		k.refuse(epoch, err)
	}
}

// refuse gives an epoch up under which this host cannot hold the address.
func (k *keeper) refuse(epoch int64, err error) {
	k.fail(err)
	if k.remove() {
		k.released = epoch
	}
}

// sendAnnouncement announces the address, as often as is left to do.
func (k *keeper) sendAnnouncement() {
	if k.announce == 0 {
		return
	}
	k.announce--
	if err := k.device.Announce(); err != nil {
		k.log.Warn("the network is not told that this host has a virtual IP: clients find it when they ask anew", "error", err)
	}
}

// giveBack gives the address up when the process ends.
func (k *keeper) giveBack() {
	if k.held == 0 {
		k.remove()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	k.yield(ctx)
}

// remove takes the address off the device, and reports whether it is gone.
func (k *keeper) remove() bool {
	if err := k.device.Remove(); err != nil {
		k.log.Warn("a virtual IP is not removed yet", "error", err)
		return false
	}
	k.held = 0
	return true
}

// fail notes why this host cannot hold the address, and tells the pool.
func (k *keeper) fail(err error) {
	if k.problem == nil || k.problem.Error() != err.Error() {
		k.log.Warn("this host cannot hold a virtual IP", "error", err)
		k.Problem(k.ip, err.Error())
	}
	k.problem, k.tried = err, k.Boot.Since()
}

// mend looks from time to time whether a problem is over. That another host has taken the address shows that it was free.
func (k *keeper) mend(ctx context.Context, elsewhere bool) {
	switch {
	case k.problem == nil:
	case elsewhere && errors.Is(k.problem, ErrTaken):
		k.mended()
	case k.Boot.Since()-k.tried >= retryInterval:
		k.check(ctx)
	}
}

// check looks whether this host could hold the address.
func (k *keeper) check(ctx context.Context) {
	switch err := k.device.Check(ctx); {
	case ctx.Err() != nil:
	case errors.Is(err, ErrTaken) && k.problem == nil: // by another host of the pool: it matters when this one is to take it
	case err != nil:
		k.fail(err)
	default:
		k.mended()
	}
}

func (k *keeper) mended() {
	if k.problem != nil {
		k.log.Info("this host can hold a virtual IP again")
		k.Problem(k.ip, "")
		k.problem = nil
	}
}

// ErrTaken is the error of an address that another machine has.
var ErrTaken = errors.New("another machine has the address")
