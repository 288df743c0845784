package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

const (
	typeAWS  = "application/x-amz-json-1.1"
	typeJSON = "application/json"
)

// reply writes an answer as JSON, whole or not at all.
func (d *door) reply(w http.ResponseWriter, r *http.Request, contentType string, status int, answer any) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		d.Log.Error("an answer cannot be encoded", "requestId", requestID(w), "path", r.URL.Path, "err", err)
		status = http.StatusInternalServerError
		text.Reset()
		text.WriteString(`{"__type":"ServerException","message":"The answer cannot be encoded. This is a fault of Pinion."}`)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	if _, err := w.Write(bytes.TrimSuffix(text.Bytes(), []byte("\n"))); err != nil {
		d.Log.Debug("the client went away", "requestId", requestID(w), "err", err)
	}
}

// refuse writes an error in the form that both SDK families read: a header for one, a body for the other.
func (d *door) refuse(w http.ResponseWriter, r *http.Request, contentType string, err error) {
	refusal, status := explain(err)
	switch {
	case status < http.StatusInternalServerError:
	case r.Context().Err() != nil: // not a fault: nobody waits for the answer any more
		d.Log.Debug("the client went away", "requestId", requestID(w), "path", r.URL.Path, "err", err)
	default:
		d.Log.Error("request failed", "requestId", requestID(w), "path", r.URL.Path, "err", err)
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
