package httpx

import (
	"net/http"

	"pinion/api/wire"
)

// maxQuery is the size in bytes of the query of a URL at most. The longest, the pattern of a search in logs with its times, has a tenth of that.
const maxQuery = 8 << 10

// QueryBound refuses requests with a longer query before anything reads it: whoever sends it is not known yet.
func QueryBound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if size := len(r.URL.RawQuery); size > maxQuery {
			x := FromRequest(r)
			x.Request, x.Format = r, JSON
			x.Refuse(wire.Errorf(wire.InvalidParameter, "The query of the URL has %d bytes of %d at most: send what is long as the body of a POST.", size, maxQuery))
			return
		}
		next.ServeHTTP(w, r)
	})
}
