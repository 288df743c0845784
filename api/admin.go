package api

import (
	"context"
	"net/http"
	"time"

	"pinion/api/wire"
)

// errNotConfigured refuses what this host was given no means for.
func errNotConfigured(what string) error {
	return wire.Errorf(wire.Client, "pinion: %s is not supported here: this pinion serves one host that is not part of a pool.", what)
}

// tokenView is a join token as operators see it: never its secret, nor what that is checked by.
type tokenView struct {
	ID        string    `json:"id"`
	Role      string    `json:"role"`
	Uses      int       `json:"uses"` // how many hosts it lets in
	Used      int       `json:"used"`
	Expires   time.Time `json:"expires"`
	CreatedAt time.Time `json:"createdAt"`
}

func (d *door) listTokens(w http.ResponseWriter, r *http.Request, who caller, _ []byte) error {
	views := []tokenView{}
	for _, t := range who.view.JoinTokens() {
		views = append(views, tokenView{ID: t.ID, Role: t.Role, Uses: t.Uses, Used: t.Used, Expires: t.Expires, CreatedAt: t.CreatedAt})
	}
	d.reply(w, r, typeJSON, http.StatusOK, views)
	return nil
}

type tokenInput struct {
	TTL  string `json:"ttl"` // a duration such as 24h
	Uses int    `json:"uses"`
	Role string `json:"role"`
}

type newTokenView struct {
	Token string `json:"token"`
	Join  string `json:"join,omitempty"` // address of a host
}

// idInput names what a request is about.
type idInput struct {
	ID string `json:"id"`
}

// createToken answers with the token, and with the address of a host that a new one can join by.
func (d *door) createToken(w http.ResponseWriter, r *http.Request, who caller, body []byte) error {
	var in tokenInput
	if err := wire.DecodeJSON(body, &in, wire.Strict); err != nil {
		return err
	}
	ttl, err := parseTTL(in.TTL)
	if err != nil {
		return err
	}
	if in.Uses < 0 {
		return wire.Errorf(wire.InvalidParameter, "uses must be a number of hosts from 1, not %d.", in.Uses)
	}
	if d.Admin.Tokens == nil {
		return errNotConfigured("making join tokens")
	}
	token, err := d.Admin.Tokens.CreateToken(r.Context(), ttl, in.Uses, in.Role)
	if err != nil {
		return err
	}
	answer := newTokenView{Token: token}
	if host := who.view.Host(d.HostID); host != nil {
		answer.Join = host.Address
	}
	d.reply(w, r, typeJSON, http.StatusOK, answer)
	return nil
}

// parseTTL reads a duration; empty is 0, which stands for the default.
func parseTTL(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	ttl, err := time.ParseDuration(text)
	if err != nil || ttl <= 0 {
		return 0, wire.Errorf(wire.InvalidParameter, "ttl must be a duration such as 30m or 24h, not %q.", text)
	}
	return ttl, nil
}

func (d *door) revokeToken(w http.ResponseWriter, r *http.Request, _ caller, body []byte) error {
	var in idInput
	if err := wire.DecodeJSON(body, &in, wire.Strict); err != nil {
		return err
	}
	if d.Admin.Tokens == nil {
		return errNotConfigured("revoking join tokens")
	}
	if err := d.Admin.Tokens.RevokeToken(r.Context(), in.ID); err != nil {
		return err
	}
	d.done(w, r)
	return nil
}

type hostInput struct {
	Host  string `json:"host"`  // id
	Force bool   `json:"force"` // remove: whatever runs there
}

// changeHost serves /v1/admin/hosts/remove, promote and demote.
func (d *door) changeHost(w http.ResponseWriter, r *http.Request, who caller, body []byte) error {
	var in hostInput
	if err := wire.DecodeJSON(body, &in, wire.Strict); err != nil {
		return err
	}
	if d.Admin.Hosts == nil {
		return errNotConfigured("changing hosts")
	}
	change, known := map[string]func(context.Context, string) error{
		"promote": d.Admin.Hosts.Promote,
		"demote":  d.Admin.Hosts.Demote,
		"remove":  func(ctx context.Context, id string) error { return d.Admin.Hosts.RemoveHost(ctx, id, in.Force) },
	}[r.PathValue("change")]
	if !known {
		return wire.Errorf(notFound, "There is no %s: hosts can be changed with remove, promote and demote.", r.URL.Path)
	}
	if who.view.Host(in.Host) == nil {
		return wire.Errorf(notFound, "There is no host with the id %q.", in.Host)
	}
	if err := change(r.Context(), in.Host); err != nil {
		return err
	}
	d.done(w, r)
	return nil
}

func (d *door) done(w http.ResponseWriter, r *http.Request) {
	d.reply(w, r, typeJSON, http.StatusOK, struct{}{})
}

// snapshot sends the state as a file that tells by itself whether it is whole.
func (d *door) snapshot(w http.ResponseWriter, r *http.Request, _ caller, _ []byte) error {
	if d.Admin.Snapshots == nil {
		return errNotConfigured("saving snapshots")
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	out := &flushWriter{w: w, control: http.NewResponseController(w)}
	err := d.Admin.Snapshots.SaveSnapshot(r.Context(), out)
	if err == nil || !out.started {
		return err
	}
	d.Log.Warn("a snapshot broke off", "requestId", requestID(w), "err", err)
	panic(http.ErrAbortHandler)
}
