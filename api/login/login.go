// Package login carries out the device flow for people who log in with a browser: their host asks the issuer of the pool, as the browser may not. It
// also ends the key of a login.
package login

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/openid"
	"pinion/api/wire"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/spec"
)

// Handler answers those who log in. It is safe for concurrent use, and its answers are the leader's.
type Handler struct {
	Devices *openid.Devices
	Keys    Keys // nil: this host is part of no pool, and no key of it is a login's
	Now     func() time.Time
}

// Keys ends access keys, and seals logins.
type Keys interface {
	// RemoveKey ends a key at once. spec.ErrNotFound.
	RemoveKey(ctx context.Context, id string) error
	// SealLogin seals what the next leader has to know of a login: no key but those of the servers opens it, and for this id alone. spec.ErrUnavailable.
	SealLogin(ctx context.Context, id, login string) (sealed string, err error)
	// OpenLogin opens what SealLogin has sealed, here or on another server. spec.ErrUnavailable while this host cannot; any other error is final.
	OpenLogin(ctx context.Context, id, sealed string) (login string, err error)
}

// Offer says whether people log in with a browser, and where.
type Offer struct {
	Issuer string `json:"issuer,omitempty"` // left out: the pool has none
}

// Begun is a login that has begun. The person opens url and enters the code there, or opens completeUrl.
type Begun struct {
	ID          string `json:"id"` // of the login, for its only browser; behind the first dot, what the next leader goes on from, sealed
	URL         string `json:"url"`
	CompleteURL string `json:"completeUrl,omitempty"` // has the code in it
	Code        string `json:"code"`
	Interval    int    `json:"interval"`  // seconds between two questions for the token
	ExpiresIn   int    `json:"expiresIn"` // seconds
}

// IDTokenRequest asks for the ID token of a login.
type IDTokenRequest struct {
	ID string `json:"id"`
}

// IDToken is the ID token of a person who has logged in; POST /v1/login exchanges it.
type IDToken struct {
	IDToken  string `json:"idToken,omitempty"`  // left out: nobody has logged in yet
	Interval int    `json:"interval,omitempty"` // seconds until the next question
}

// IssuerOf is the issuer of the pool; an error that says what to do where there is none.
func IssuerOf(res leader.Resolution) (*issuer.Issuer, error) {
	if from := issuer.Find(res.View); from != nil {
		return from, nil
	}
	return nil, wire.Errorf(httpx.NotFound, "Nobody can log in to this pool: it has no OpenID Connect issuer. An administrator names one with `pinion oidc set`; until then, ask one for an access key (`pinion keys create`).")
}

// Offer answers whether people log in with a browser.
func (h *Handler) Offer(x *httpx.Exchange, res leader.Resolution) error {
	var offer Offer
	if from := issuer.Find(res.View); from != nil {
		offer.Issuer = from.URL
	}
	return reply(x, offer)
}

// Begin has the issuer begin a login.
func (h *Handler) Begin(x *httpx.Exchange, res leader.Resolution) error {
	x.Audited, x.Writes = false, false // nothing of the pool changes: POST /v1/login does that, and is recorded
	from, err := h.issuerOf(res)
	if err != nil {
		return err
	}
	now := h.Now()
	id, device, err := h.Devices.Start(x.Context(), from, x.LimitAddress(), now)
	if err != nil {
		return err
	}
	sealed, err := h.Keys.SealLogin(x.Context(), id, device.Save())
	if err != nil {
		return err
	}
	return reply(x, Begun{
		ID: id + "." + sealed, URL: device.Prompt.URL, CompleteURL: device.Prompt.Complete, Code: device.Prompt.Code, Interval: seconds(device.Interval), ExpiresIn: seconds(device.Expires.Sub(now)),
	})
}

// IDToken answers whether the person has logged in.
func (h *Handler) IDToken(x *httpx.Exchange, res leader.Resolution) error {
	x.Audited, x.Writes = false, false
	from, err := h.issuerOf(res)
	if err != nil {
		return err
	}
	var in IDTokenRequest
	if err := wire.DecodeJSON(x.Body, &in, wire.Strict); err != nil {
		return err
	}
	id, sealed, _ := strings.Cut(in.ID, ".")
	if !h.Devices.Known(id) {
		if err := h.resume(x, from, id, sealed); err != nil {
			return err
		}
	}
	token, wait, err := h.Devices.IDToken(x.Context(), from, id, h.Now())
	if err != nil {
		return err
	}
	return reply(x, IDToken{IDToken: token, Interval: seconds(wait)})
}

// resume goes on with a login that another leader has begun.
func (h *Handler) resume(x *httpx.Exchange, from *issuer.Issuer, id, sealed string) error {
	saved, err := h.Keys.OpenLogin(x.Context(), id, sealed)
	switch {
	case errors.Is(err, spec.ErrUnavailable):
		return err
	case err != nil:
		return openid.ErrUnknown
	}
	return h.Devices.Resume(from, id, saved, x.LimitAddress(), h.Now())
}

// issuerOf is IssuerOf, where this host can seal logins.
func (h *Handler) issuerOf(res leader.Resolution) (*issuer.Issuer, error) {
	if h.Keys == nil {
		return nil, wire.Errorf(wire.Client, "Nobody logs in with a browser here: this pinion serves one host that is not part of a pool.")
	}
	return IssuerOf(res)
}

// LogOut ends the access key of the caller, if a login has made it.
func (h *Handler) LogOut(x *httpx.Exchange, res leader.Resolution) error {
	x.Audited = true
	key := res.View.AccessKey(res.Principal.KeyID)
	if h.Keys == nil || key == nil || key.Login == nil {
		return wire.Errorf(wire.InvalidParameter, "No login has made the access key of this request: an administrator ends it with `pinion keys rm`.")
	}
	if err := h.Keys.RemoveKey(x.Context(), key.ID); err != nil {
		return err
	}
	return reply(x, struct{}{})
}

// seconds is a time in whole seconds, never too short.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

func reply(x *httpx.Exchange, v any) error {
	x.Reply(http.StatusOK, v)
	return nil
}
