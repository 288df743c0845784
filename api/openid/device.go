package openid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"pinion/raftfsm/issuer"
)

// Prompt is what a person has to do to log in. It has printable characters alone, and its addresses are https, or of this machine like the issuer.
type Prompt struct {
	URL      string // to open in a browser, anywhere
	Code     string // to enter there
	Complete string // URL with the code in it; may be empty
}

// Bounds of what an issuer says of a device.
const (
	defaultInterval = 5 * time.Second // RFC 8628, section 3.2
	maxInterval     = 5 * time.Minute // between two questions
	maxLife         = 30 * time.Minute
	maxUserCode     = 64      // bytes
	maxURL          = 2 << 10 // bytes
	maxDeviceCode   = 4 << 10 // bytes
)

// Device is a device authorization flow (RFC 8628) that an issuer has begun. It is used by one goroutine at a time.
type Device struct {
	Prompt   Prompt
	Interval time.Duration // least time between two questions; Ask makes it longer when the issuer wants that
	Expires  time.Time     // of the code

	at     *issuer.Issuer
	client *http.Client
	flow   oauth2.Config
	code   string
}

var (
	// ErrPending means that nobody has entered the code of a device yet.
	ErrPending = errors.New("nobody has logged in with the code yet")
	// ErrEnded means that a device flow gives no ID token any more: it has to be begun anew.
	ErrEnded = errors.New("this login is over")
)

// LogIn gets an ID token by the device authorization flow: ask shows the person the prompt, and the person logs in in any browser. It ends when
// the person has, has declined, or the code has expired.
func LogIn(ctx context.Context, at *issuer.Issuer, ask func(Prompt)) (token string, err error) {
	device, err := Start(ctx, at, time.Now())
	if err != nil {
		return "", err
	}
	ask(device.Prompt)
	ctx, cancel := context.WithDeadline(ctx, device.Expires)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("nobody has logged in at the issuer %s with the code %s: %w", at.URL, device.Prompt.Code, ctx.Err())
		case <-time.After(device.Interval):
		}
		if token, err = device.Ask(ctx); !errors.Is(err, ErrPending) {
			return token, err
		}
	}
}

// Start has an issuer begin a device flow at a time.
func Start(ctx context.Context, at *issuer.Issuer, now time.Time) (*Device, error) {
	if err := issuer.CheckURL(at.URL); err != nil {
		return nil, err
	}
	client, err := newClient(at)
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, client)
	provider, err := oidc.NewProvider(ctx, at.URL)
	if err != nil {
		return nil, fmt.Errorf("the issuer %s, at which people of this pool log in: %w", at.URL, briefly(err))
	}
	flow := oauth2.Config{ClientID: at.ClientID, Endpoint: provider.Endpoint(), Scopes: append([]string{oidc.ScopeOpenID}, at.Scopes...)}
	flow.Endpoint.AuthStyle = oauth2.AuthStyleInParams // a client without a secret
	if flow.Endpoint.DeviceAuthURL == "" {
		return nil, errNoDevice
	}
	if len(flow.Endpoint.TokenURL) > maxURL {
		return nil, fmt.Errorf("the issuer %s: the address of its token endpoint is longer than %d bytes", at.URL, maxURL)
	}
	answer, err := flow.DeviceAuth(ctx)
	if err != nil {
		return nil, fmt.Errorf("the issuer %s: %w", at.URL, briefly(err))
	}
	device, err := newDevice(at, answer, now)
	if err != nil {
		return nil, fmt.Errorf("the issuer %s: %w", at.URL, err)
	}
	device.at, device.client, device.flow = at, client, flow
	return device, nil
}

// newDevice checks what an issuer answers: it is shown to a person, who follows it.
func newDevice(at *issuer.Issuer, answer *oauth2.DeviceAuthResponse, now time.Time) (*Device, error) {
	d := &Device{
		Prompt:   Prompt{URL: answer.VerificationURI, Code: answer.UserCode, Complete: answer.VerificationURIComplete},
		Interval: cmp.Or(time.Duration(answer.Interval)*time.Second, defaultInterval), Expires: now.Add(maxLife), code: answer.DeviceCode,
	}
	if answer.Interval < 0 || answer.Interval > int64(maxInterval/time.Second) {
		return nil, fmt.Errorf("it wants to be asked every %d seconds whether somebody has logged in: at most %v are waited", answer.Interval, maxInterval)
	}
	if left := time.Until(answer.Expiry); !answer.Expiry.IsZero() && left < maxLife {
		d.Expires = now.Add(left)
	}
	if !d.Expires.After(now) {
		return nil, errors.New("it gives a code that has expired already")
	}
	if d.code == "" || len(d.code) > maxDeviceCode {
		return nil, fmt.Errorf("it gives no device code of at most %d bytes", maxDeviceCode)
	}
	return d, d.Prompt.check(at)
}

// check refuses what no person should be shown.
func (p Prompt) check(at *issuer.Issuer) error {
	if p.Code == "" || len(p.Code) > maxUserCode || strings.ContainsFunc(p.Code, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("it gives no code to enter of at most %d printable characters", maxUserCode)
	}
	if err := checkPromptURL(p.URL, at); err != nil {
		return err
	}
	if p.Complete == "" {
		return nil
	}
	return checkPromptURL(p.Complete, at)
}

// checkPromptURL refuses an address that a browser would take for a program, or that leads the person and the code over a connection that anybody on
// the way may change. An issuer of this machine may name addresses of this machine without TLS.
func checkPromptURL(text string, at *issuer.Issuer) error {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || u.Host == "" || u.User != nil || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("it has people log in at %.100q, which is not the address of a page", text)
	}
	own, _ := url.Parse(at.URL) // issuer.CheckURL has passed
	if u.Scheme != "https" && !(u.Scheme == "http" && issuer.IsLoopback(u) && issuer.IsLoopback(own)) {
		return fmt.Errorf("it has people log in at %.100q, which is not https", text)
	}
	return nil
}

// Ask asks the issuer of a device once whether the person has logged in, and returns the ID token. ErrPending: not yet, and Interval has to pass
// before the next question. Errors that wrap ErrEnded are final; after any other the issuer may be asked again.
func (d *Device) Ask(ctx context.Context) (token string, err error) {
	got, err := d.flow.Exchange(oidc.ClientContext(ctx, d.client), "", // of another grant; RFC 6749, section 3.2: a parameter without a value is as none
		oauth2.SetAuthURLParam("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), oauth2.SetAuthURLParam("device_code", d.code))
	if err == nil {
		token, is := got.Extra("id_token").(string)
		if !is {
			return "", fmt.Errorf("%w: the issuer %s gives no ID token: the client %s has to be one for OpenID Connect, with the scope openid", ErrEnded, d.at.URL, d.at.ClientID)
		}
		return token, nil
	}
	refusal, refused := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !refused || refusal.ErrorCode == "": // it cannot be reached, or is out of order
		return "", fmt.Errorf("the issuer %s: %w", d.at.URL, briefly(err))
	case refusal.ErrorCode == "authorization_pending":
		return "", ErrPending
	case refusal.ErrorCode == "slow_down": // RFC 8628, section 3.5: by 5 seconds, for this and all later questions
		d.Interval = min(d.Interval+5*time.Second, maxInterval)
		return "", ErrPending
	case refusal.ErrorCode == "access_denied":
		return "", fmt.Errorf("%w: it was declined at the issuer %s", ErrEnded, d.at.URL)
	case refusal.ErrorCode == "expired_token":
		return "", fmt.Errorf("%w: nobody has entered the code in time", ErrEnded)
	}
	return "", fmt.Errorf("%w: the issuer %s: %w", ErrEnded, d.at.URL, briefly(err))
}

// maxSaid is how many bytes of what an issuer says of an error are told.
const maxSaid = 300

// safeError is an error whose text has a bound, and nothing that a terminal would take for a command: an issuer's answer may be in it.
type safeError struct {
	text  string
	cause error
}

func (b *safeError) Error() string { return b.text }
func (b *safeError) Unwrap() error { return b.cause }

func briefly(err error) error {
	text := err.Error()
	if refusal, is := errors.AsType[*oauth2.RetrieveError](err); is {
		text = fmt.Sprintf("it answers with status %d, %q: %s", refusal.Response.StatusCode, refusal.ErrorCode, refusal.ErrorDescription)
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxSaid {
		text = strings.ToValidUTF8(text[:maxSaid], "") + " ..."
	}
	return &safeError{text, err}
}
