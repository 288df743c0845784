package api

import (
	"cmp"
	"net/http"
	"time"
)

// door serves one listener: the TLS port, or the unix socket.
type door struct {
	Config
	closing <-chan struct{} // closed when streams have to end
}

// NewHandler is the whole HTTP surface of a host: the ECS door (POST /), the plain door (/v1/...) and health. It may
// be served by several listeners; make one handler per kind of trust.
func NewHandler(config Config) http.Handler { return newHandler(config, nil) }

func newHandler(config Config, closing <-chan struct{}) http.Handler {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Limits == nil {
		config.Limits = NewLimits()
	}
	config.Region = cmp.Or(config.Region, DefaultRegion)
	d := &door{Config: config, closing: closing}

	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", d.awsDoor)
	mux.HandleFunc("POST /v1/{operation}", d.plainDoor)
	for _, line := range d.routes() {
		mux.HandleFunc(line.method+" "+line.path, d.open(line))
	}
	mux.HandleFunc("/", d.nothingHere)
	return d.observe(d.introduce(mux))
}
