package proxy

import (
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Limits of the headers of one request, beside that of all their bytes.
const (
	maxHeaders    = 200
	maxHeaderSize = 16 << 10 // ELB's, for one
)

// refuse says with which status a request is refused, and why; 0 when it is not. net/http has refused already what it cannot read in one way only.
// What is refused here a target might read in another way than this proxy, or ask of the proxy what it does not do.
func refuse(r *http.Request) (status int, why string) {
	switch {
	case r.Method == http.MethodConnect:
		return http.StatusMethodNotAllowed, "this is no forward proxy: CONNECT is not served"
	case r.URL.Path == "" || r.URL.Path[0] != '/':
		return http.StatusBadRequest, "the request target must be a path that begins with /"
	case !httpguts.ValidHeaderFieldName(r.Method): // a method is a token, as a name is
		return http.StatusBadRequest, "the method is no token"
	case strings.ContainsAny(r.URL.RawQuery, " \t"): // net/http refuses these two in HTTP/1.1, not in HTTP/2
		return http.StatusBadRequest, "there is a space in the query"
	case !isHost(r.Host):
		return http.StatusBadRequest, "the host is malformed"
	case len(r.Header["Content-Length"]) > 1: // net/http refuses them in HTTP/1.1, not in HTTP/2
		return http.StatusBadRequest, "there is more than one Content-Length"
	}
	if size, count := largest(r.Header); count > maxHeaders || size > maxHeaderSize {
		return http.StatusRequestHeaderFieldsTooLarge, "at most 200 headers of 16 KiB are read"
	}
	if upgrade := r.Header.Get("Upgrade"); upgrade != "" {
		return refuseUpgrade(r, upgrade)
	}
	return 0, ""
}

// isHost reports whether a target can be told the host of a request.
func isHost(host string) bool {
	ascii, err := httpguts.PunycodeHostPort(host)
	return err == nil && httpguts.ValidHostHeader(ascii)
}

// refuseUpgrade allows WebSocket only. After an upgrade to h2c a client could send requests past the rules.
func refuseUpgrade(r *http.Request, upgrade string) (status int, why string) {
	switch {
	case !strings.EqualFold(upgrade, "websocket") || len(r.Header["Upgrade"]) > 1:
		r.Header.Del("Upgrade") // it may be ignored
	case r.ContentLength != 0:
		return http.StatusBadRequest, "a request for an upgrade must have no body"
	}
	return 0, ""
}

func largest(h http.Header) (size, count int) {
	for name, values := range h {
		count += len(values)
		for _, v := range values {
			size = max(size, len(name)+len(v))
		}
	}
	return size, count
}

// closeAfter ends the connection after a request of which another program before this one might take a different length: of HTTP/1.0, or with a
// Transfer-Encoding, beside which net/http ignores a Content-Length.
func closeAfter(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && (r.ProtoMinor == 0 || len(r.TransferEncoding) > 0) {
		w.Header().Set("Connection", "close")
	}
}

// aliases are names that some servers read as others because they make _ of -, as CGI does. A client must not get around what this proxy says with
// them.
var aliases = map[string]bool{
	"x-forwarded-for": true, "x-forwarded-proto": true, "x-forwarded-port": true, "content-length": true, "transfer-encoding": true, "host": true,
	"connection": true, "upgrade": true,
}

func dropAliases(h http.Header) {
	for name := range h {
		if strings.Contains(name, "_") && aliases[strings.ToLower(strings.ReplaceAll(name, "_", "-"))] {
			delete(h, name)
		}
	}
}
