package api

import (
	"context"
	"mime"
	"net/http"
	"time"

	"pinion/api/ecs"
	"pinion/api/wire"
)

// plainDoor serves the same operations as POST /v1/{Operation}, for people and scripts: JSON or YAML, and strict.
func (d *door) plainDoor(w http.ResponseWriter, r *http.Request) {
	body, err := d.receive(w, r)
	if err == nil {
		err = d.operate(w, r, typeJSON, body, r.PathValue("operation"), func(c *ecs.Request) ecs.Decoder {
			c.Strictness, c.MaxCount = wire.Strict, maxCountPlain
			if isYAML(r) {
				return wire.DecodeYAML
			}
			return wire.DecodeJSON
		})
	}
	d.conclude(w, r, typeJSON, err)
}

func isYAML(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind == "application/yaml" || kind == "text/yaml" || kind == "application/x-yaml"
}

// versionView is what a host says of itself to everyone.
type versionView struct {
	Version string `json:"version"`
	HostID  string `json:"hostId,omitempty"`
}

func (d *door) version(w http.ResponseWriter, r *http.Request, _ caller, _ []byte) error {
	d.reply(w, r, typeJSON, http.StatusOK, versionView{d.Version, d.HostID})
	return nil
}

// healthTimeout is how long a host may look for the leader of its pool.
const healthTimeout = 2 * time.Second

// healthView is the answer to a health check. It is for everyone, so it says nothing that is the pool's own business.
type healthView struct {
	Status string `json:"status"`           // "ok" or "unavailable"
	Reason string `json:"reason,omitempty"` // for people
}

// health answers 200 when this host can answer for its pool: it leads, or knows who does. It asks no other host, so that
// nobody can keep the pool busy with it.
func (d *door) health(w http.ResponseWriter, r *http.Request, _ caller, _ []byte) error {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	if err := d.healthy(ctx); err != nil {
		d.Log.Debug("unhealthy", "requestId", requestID(w), "err", err)
		d.reply(w, r, typeJSON, http.StatusServiceUnavailable, healthView{"unavailable", "this host cannot reach the leader of its pool now; its log tells more"})
		return nil
	}
	d.reply(w, r, typeJSON, http.StatusOK, healthView{Status: "ok"})
	return nil
}

func (d *door) healthy(ctx context.Context) error {
	if d.Leader == nil {
		_, err := d.Store.View(ctx) // alone: there is nobody whom this could ask
		return err
	}
	_, _, err := d.Leader.Leader(ctx)
	return err
}

// nothingHere answers every path and method that is not served.
func (d *door) nothingHere(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		d.refuse(w, r, typeJSON, wire.Errorf(notAllowed, "%s is not served: use GET or POST.", r.Method))
		return
	}
	d.refuse(w, r, typeJSON, wire.Errorf(notFound, "There is nothing at %s %s. Operations are POST /v1/RunTask and so on; GET /v1/openapi.json tells what else there is.", r.Method, r.URL.Path))
}
