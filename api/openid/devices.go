package openid

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net/netip"
	"sync"
	"time"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/packaging/clientnet"
	"pinion/raftfsm/issuer"
)

// Bounds of Devices: anybody may begin a login, and have the issuer asked.
const (
	maxDevices           = 256 // that are remembered
	maxDevicesPerAddress = 16
	maxAsking            = 16              // requests that wait for the issuer at once
	leastRemembered      = time.Minute     // how long a login counts, whatever becomes of it: so many can be begun in that time, and no more
	abandonedAfter       = 3 * time.Minute // since its browser has last asked: one that shows another page asks once a minute
)

// Devices are the device flows that a host carries out for browsers, which cannot ask the issuer themselves. The host remembers the device code, and
// the browser gets an id: nobody makes the host ask the issuer but about logins that it has begun, or goes on with, and not more often than the issuer
// wants to be asked. The zero value is ready, and it is safe for concurrent use. It waits for the issuer in the goroutine of the request that needs it, and
// holds no lock meanwhile.
type Devices struct {
	mu     sync.Mutex
	begun  map[string]*login // by id
	asking int
}

// login is one device flow.
type login struct {
	network  netip.Prefix // of the browser
	issuer   string       // URL, and client there
	clientID string
	begun    time.Time
	seen     time.Time     // when the browser has last asked
	next     time.Time     // before which the issuer is not asked
	wait     time.Duration // Interval of the device
	asking   bool
	device   *Device // nil: the issuer has not answered, or the login is over
}

// Start has the issuer begin a login for a browser at an address (host:port), and returns the id of the login.
func (d *Devices) Start(ctx context.Context, from *issuer.Issuer, address string, now time.Time) (id string, device *Device, err error) {
	l := &login{network: clientnet.Prefix(address), issuer: from.URL, clientID: from.ClientID, begun: now, seen: now}
	if id, err = d.admit(l, now); err != nil {
		return "", nil, err
	}
	defer d.release()
	if device, err = Start(ctx, from, now); err != nil {
		return "", nil, wire.Errorf(wire.Server, "Nobody can log in now: %v.", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l.device, l.wait, l.next = device, device.Interval, now.Add(device.Interval)
	return id, device, nil
}

// Known reports whether this host remembers a login.
func (d *Devices) Known(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun[id] != nil
}

// Resume has this host go on with a login that another one has begun, for a browser at an address. saved is Device.Save of then. The issuer is asked
// after its interval at the earliest, as if the other host had just asked.
func (d *Devices) Resume(from *issuer.Issuer, id, saved, address string, now time.Time) error {
	device, err := restore(from, saved)
	if err != nil || !now.Before(device.Expires) {
		return ErrUnknown
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun[id] != nil {
		return nil
	}
	return d.remember(id, &login{
		network: clientnet.Prefix(address), issuer: from.URL, clientID: from.ClientID, begun: now, seen: now, next: now.Add(device.Interval), wait: device.Interval, device: device,
	}, now)
}

// ErrUnknown refuses what is asked about a login that this host has not begun and cannot go on with.
var ErrUnknown = wire.Errorf(httpx.NotFound, "There is no such login: it is over. Begin anew.")

// admit remembers a login that begins, or refuses it.
func (d *Devices) admit(l *login, now time.Time) (id string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asking >= maxAsking {
		return "", errBusy(l.issuer)
	}
	id = rand.Text()
	if err := d.remember(id, l, now); err != nil {
		return "", err
	}
	d.asking++
	return id, nil
}

// remember remembers a login where there is room for it. mu is held.
func (d *Devices) remember(id string, l *login, now time.Time) error {
	maps.DeleteFunc(d.begun, func(_ string, known *login) bool { return known.forgotten(now) })
	ofAddress := 0
	for _, known := range d.begun {
		if known.network == l.network {
			ofAddress++
		}
	}
	switch {
	case ofAddress >= maxDevicesPerAddress:
		return wire.Errorf(httpx.Throttled, "Nothing was done: %d logins of your address are under way. Try again in a few minutes, or use `pinion login`.", ofAddress)
	case len(d.begun) >= maxDevices:
		return wire.Errorf(httpx.Throttled, "Nothing was done: %d logins are under way. Try again in a few minutes, or use `pinion login`.", len(d.begun))
	}
	if d.begun == nil {
		d.begun = map[string]*login{}
	}
	d.begun[id] = l
	return nil
}

func (d *Devices) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asking--
}

// forgotten reports whether a login needs no place any more.
func (l *login) forgotten(now time.Time) bool {
	return now.Sub(l.begun) >= leastRemembered && (l.device == nil || !now.Before(l.device.Expires) || now.Sub(l.seen) >= abandonedAfter)
}

func errBusy(at string) error {
	return wire.Errorf(httpx.Throttled, "%d logins wait for the issuer %s already: try again in a moment.", maxAsking, at)
}

// IDToken is the ID token of the person who has logged in with the code of a login. It is given once. Empty: nobody has yet, and the browser asks
// again after wait.
func (d *Devices) IDToken(ctx context.Context, from *issuer.Issuer, id string, now time.Time) (token string, wait time.Duration, err error) {
	l, wait, err := d.due(from, id, now)
	if l == nil {
		return "", wait, err
	}
	defer d.release()
	token, err = l.device.Ask(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	l.asking, l.wait = false, l.device.Interval
	l.next = now.Add(l.wait)
	switch {
	case errors.Is(err, ErrPending):
		return "", l.wait, nil
	case errors.Is(err, ErrEnded):
		l.device = nil
		return "", 0, wire.Errorf(wire.AccessDenied, "%v. Begin anew.", err)
	case err != nil:
		return "", 0, wire.Errorf(wire.Server, "The issuer cannot be asked whether you have logged in: %v.", err)
	}
	l.device = nil
	return token, 0, nil
}

// due is the login with an id when its issuer is to be asked now, which is then the caller's to do; nil: not now, or there is none.
func (d *Devices) due(from *issuer.Issuer, id string, now time.Time) (*login, time.Duration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.begun[id]
	if l == nil || l.device == nil || !now.Before(l.device.Expires) || l.issuer != from.URL || l.clientID != from.ClientID {
		return nil, 0, ErrUnknown
	}
	l.seen = now
	switch {
	case l.asking:
		return nil, l.wait, nil
	case now.Before(l.next):
		return nil, l.next.Sub(now), nil
	case d.asking >= maxAsking:
		return nil, 0, errBusy(from.URL)
	}
	d.asking++
	l.asking = true
	return l, l.wait, nil
}
