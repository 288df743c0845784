package api

import (
	"cmp"
	"net/http"
	"time"

	"pinion/api/sigv4"
)

// door serves one listener: the TLS port, or the unix socket.
type door struct {
	Config
	verifier sigv4.Verifier
	closing  <-chan struct{} // closed when streams have to end
}

// NewHandler is the whole HTTP surface of a host: the ECS door (POST /), the plain door (/v1/...) and health. It may
// be served by several listeners; make one handler per kind of trust.
func NewHandler(config Config) http.Handler { return newHandler(config, nil) }

func newHandler(config Config, closing <-chan struct{}) http.Handler {
	if config.Now == nil {
		config.Now = time.Now
	}
	config.Region = cmp.Or(config.Region, DefaultRegion)
	d := &door{Config: config, verifier: sigv4.Verifier{Service: "ecs", Now: config.Now}, closing: closing}

	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", d.awsDoor)
	mux.HandleFunc("POST /v1/{operation}", d.plainDoor)
	mux.HandleFunc("GET /v1/tasks/{id}/logs", d.ofTask(d.logs))
	mux.HandleFunc("GET /v1/tasks/{id}/pulls", d.ofTask(d.pulls))
	mux.HandleFunc("GET /v1/hosts", d.asCaller(d.hosts))
	mux.HandleFunc("GET /v1/gpus", d.asCaller(d.gpus))
	mux.HandleFunc("GET /v1/admin/tokens", d.asAdmin(d.listTokens))
	mux.HandleFunc("POST /v1/admin/tokens", d.asAdmin(d.createToken))
	mux.HandleFunc("POST /v1/admin/tokens/revoke", d.asAdmin(d.revokeToken))
	mux.HandleFunc("POST /v1/admin/hosts/{change}", d.asAdmin(d.changeHost))
	mux.HandleFunc("GET /v1/admin/snapshot", d.asAdmin(d.snapshot))
	mux.HandleFunc("GET /v1/version", d.version)
	mux.HandleFunc("GET /healthz", d.health)
	mux.HandleFunc("/", d.nothingHere)
	return d.observe(d.introduce(mux))
}
