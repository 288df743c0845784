package api

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"pinion/api/wire"
)

const (
	typeAWS  = "application/x-amz-json-1.1"
	typeJSON = "application/json"
)

// reply writes an answer as JSON, whole or not at all.
func (d *door) reply(w http.ResponseWriter, r *http.Request, contentType string, status int, answer any) {
	text, err := wire.Append(nil, answer)
	if err != nil {
		d.Log.Error("an answer cannot be encoded", "requestId", requestID(w), "path", r.URL.Path, "err", err)
		status = http.StatusInternalServerError
		text = []byte(`{"__type":"ServerException","message":"The answer cannot be encoded. This is a fault of Pinion."}`)
	}
	w.Header().Set("Content-Type", contentType)
	if err := writeText(w, r, status, text); err != nil {
		d.Log.Debug("the client went away", "requestId", requestID(w), "err", err)
	}
}

// gzipThreshold is the size from which an answer is compressed for a client that can read it: about what one packet
// of a network carries three times.
const gzipThreshold = 4 << 10

var gzipWriters = sync.Pool{New: func() any {
	packer, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is one of the package's own
	}
	return packer
}}

// writeText writes a whole answer, compressed where that is worth it.
func writeText(w http.ResponseWriter, r *http.Request, status int, text []byte) error {
	w.Header().Add("Vary", "Accept-Encoding")
	if len(text) < gzipThreshold || !acceptsGzip(r) {
		return writeWhole(w, status, text)
	}
	var packed bytes.Buffer
	packer := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(packer)
	packer.Reset(&packed)
	_, _ = packer.Write(text) // into memory: there is nothing to fail
	_ = packer.Close()
	w.Header().Set("Content-Encoding", "gzip")
	return writeWhole(w, status, packed.Bytes())
}

// writeWhole tells the length, without which a large answer would come in chunks and, to a host that passes it on, look like
// a stream.
func writeWhole(w http.ResponseWriter, status int, text []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, err := w.Write(text)
	return err
}

// acceptsGzip reads Accept-Encoding: gzip is there, and not with the weight 0.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == "gzip" {
			_, q, _ := strings.Cut(weight, "=")
			return strings.Trim(q, "0. ") != "" || weight == ""
		}
	}
	return false
}

// refuse writes an error in the form that both SDK families read: a header for one, a body for the other.
func (d *door) refuse(w http.ResponseWriter, r *http.Request, contentType string, err error) {
	refusal, status := toWireError(err)
	switch {
	case status < http.StatusInternalServerError, refusal.Type == throttled:
	case r.Context().Err() != nil: // not a fault: nobody waits for the answer any more
		d.Log.Debug("the client went away", "requestId", requestID(w), "path", r.URL.Path, "err", err)
	default:
		d.Log.Error("request failed", "requestId", requestID(w), "path", r.URL.Path, "err", err)
	}
	if contentType == typeAWS && refusal.Type == accessDenied {
		status = http.StatusBadRequest // as its model says
	}
	w.Header().Set("X-Amzn-ErrorType", refusal.Type)
	d.reply(w, r, contentType, status, refusal)
}

// warn sends along what was accepted but does not do what the caller may think.
func warn(w http.ResponseWriter, warnings []string) {
	for _, warning := range warnings {
		w.Header().Add("X-Pinion-Warning", strings.Join(strings.Fields(warning), " "))
	}
}
