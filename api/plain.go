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
	body, err := readBody(w, r)
	if err != nil {
		d.refuse(w, r, typeJSON, err)
		return
	}
	d.serve(w, r, typeJSON, body, r.PathValue("operation"), func(c *ecs.Call) ecs.Decoder {
		c.Strict, c.MaxCount = wire.Strict, maxCountPlain
		if isYAML(r) {
			return wire.DecodeYAML
		}
		return wire.DecodeJSON
	})
}

func isYAML(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind == "application/yaml" || kind == "text/yaml" || kind == "application/x-yaml"
}

func (d *door) version(w http.ResponseWriter, r *http.Request) {
	d.reply(w, r, typeJSON, http.StatusOK, struct {
		Version string `json:"version"`
		HostID  string `json:"hostId,omitempty"`
	}{d.Version, d.HostID})
}

// healthTimeout is how long the state may take to answer a health check.
const healthTimeout = 2 * time.Second

// health answers 200 when this host can answer for its cluster: it leads, or knows who does.
func (d *door) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	if err := d.healthy(ctx); err != nil {
		d.reply(w, r, typeJSON, http.StatusServiceUnavailable, map[string]string{"status": "unavailable", "reason": err.Error()})
		return
	}
	d.reply(w, r, typeJSON, http.StatusOK, map[string]string{"status": "ok"})
}

func (d *door) healthy(ctx context.Context) error {
	if d.Leader != nil {
		if _, self, err := d.Leader.Leader(ctx); err != nil || !self {
			return err
		}
	}
	_, err := d.Cluster.View(ctx)
	return err
}

// nothingHere answers every path and method that is not served.
func (d *door) nothingHere(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		d.refuse(w, r, typeJSON, wire.Errorf(notAllowed, "%s is not served: use GET or POST.", r.Method))
		return
	}
	d.refuse(w, r, typeJSON, wire.Errorf(notFound, "There is nothing at %s %s. Operations are POST /v1/RunTask and so on; GET serves /v1/hosts, /v1/gpus, /v1/version, /v1/tasks/ID/logs and /healthz.", r.Method, r.URL.Path))
}
