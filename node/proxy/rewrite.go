package proxy

import (
	"net/http"
	"net/textproto"
	"strings"

	"golang.org/x/net/http/httpguts"

	"pinion/raftfsm/traffic"
)

// rewrite makes the request of a client one for a target, in place: the server has read from it what it needs.
func (x *upstreamRequest) rewrite(r *http.Request) {
	h := r.Header
	upgrade, trailers := upgradeType(h), httpguts.HeaderValuesContainsToken(h["Te"], "trailers")
	by, host, client := h["Forwarded"], h["X-Forwarded-Host"], h["X-Forwarded-For"]
	dropHopByHop(h)
	if trailers {
		h["Te"] = []string{"trailers"}
	}
	if upgrade != "" {
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{upgrade}
	}
	setOrDrop(h, "Forwarded", by)
	setOrDrop(h, "X-Forwarded-Host", host)
	dropAliases(h)
	x.setForwarded(h, client, r.RemoteAddr)
	r.URL.Scheme, r.Close = "http", false
	if r.ContentLength == 0 {
		r.Body = nil
	}
}

// setForwarded tells the target of the client, as ELB does. before is what the client said itself.
func (x *upstreamRequest) setForwarded(h http.Header, before []string, client string) {
	h["X-Forwarded-Proto"], h["X-Forwarded-Port"] = x.table.proto, x.table.port
	switch x.table.config.XForwardedFor {
	case traffic.XFFRemove:
		delete(h, "X-Forwarded-For")
	case traffic.XFFPreserve:
		setOrDrop(h, "X-Forwarded-For", before)
	default:
		if !x.table.config.XFFClientPort {
			client = withoutPort(client)
		}
		h["X-Forwarded-For"] = []string{strings.Join(append(before[:len(before):len(before)], client), ", ")}
	}
}

func setOrDrop(h http.Header, name string, values []string) {
	if values == nil {
		delete(h, name)
	} else {
		h[name] = values
	}
}

// upgradeType is the protocol that a message asks for, or switches to; empty for none.
func upgradeType(h http.Header) string {
	if !httpguts.HeaderValuesContainsToken(h["Connection"], "Upgrade") {
		return ""
	}
	return h.Get("Upgrade")
}

// hopByHop are headers between two neighbours only, beside those that Connection names.
var hopByHop = [...]string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func dropHopByHop(h http.Header) {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(textproto.TrimString(name))
		}
	}
	for _, name := range hopByHop {
		delete(h, name)
	}
}
