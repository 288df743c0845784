package api

import (
	"cmp"
	"log/slog"
	"net/http/httptest"
	"testing"

	"pinion/api/httpx"
	"pinion/api/rest"
)

// The description needs no key, so every client may ask for it: it costs a slot, and no reflection.
func TestTheDescriptionIsWithinTheLimits(t *testing.T) {
	b := newFixture(t)
	b.config.Shared = limited(0, 0)
	if got := b.get("/v1/openapi.json"); got.Code != 503 || got.Header().Get("X-Amzn-ErrorType") != httpx.Throttled {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := b.get("/healthz"); got.Code != 200 {
		t.Errorf("a health check takes no slot: %d %s", got.Code, got.Body)
	}
}

func TestTheDescriptionIsMadeOnce(t *testing.T) {
	made := 0
	route := openapiRoute(func() []rest.Route { made++; return allRoutes() })
	handler := httpx.AccessLog(slog.New(slog.DiscardHandler), nil, nil, serve(httpx.JSON, "", withoutKey(route)))
	var first string
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/v1/openapi.json", nil))
		first = cmp.Or(first, w.Body.String())
		if w.Code != 200 || w.Body.String() != first {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if made != 1 {
		t.Errorf("it was made %d times", made)
	}
}
