package httpx

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"pinion/api/wire"
)

// Reply writes v as JSON, whole or not at all.
func (x *Exchange) Reply(status int, v any) {
	text, err := wire.Append(nil, v)
	if err != nil {
		x.Log.Error("an answer cannot be encoded", "requestId", x.ID, "path", x.Request.URL.Path, "error", err)
		status = http.StatusInternalServerError
		text = []byte(`{"__type":"ServerException","message":"The answer cannot be encoded. This is a fault of Pinion."}`)
	}
	x.ReplyEncoded(status, text)
}

// ReplyEncoded writes text, which is in the format of the response already.
func (x *Exchange) ReplyEncoded(status int, text []byte) {
	if err := x.holdAnswer(len(text)); err != nil {
		x.Refuse(err)
		return
	}
	x.answer = Answer{status: status, text: text, warnings: x.Header()[headerWarning]}
	x.Header().Set("Content-Type", x.Format)
	if x.Format == CBOR {
		x.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	}
	x.Header().Add("Vary", "Accept-Encoding")
	if len(text) >= gzipThreshold && AcceptsGzip(x.Request) {
		x.Header().Set("Content-Encoding", "gzip")
		text = compress(text)
	}
	x.ReplyWhole(status, text)
}

// ReplyWhole writes text as it is, with its length. Without Content-Length a large response would come in chunks and look
// like a stream to a host that forwards it.
func (x *Exchange) ReplyWhole(status int, text []byte) {
	x.Header().Set("Content-Length", strconv.Itoa(len(text)))
	x.WriteHeader(status)
	if _, err := x.Write(text); err != nil {
		x.Log.Debug("the client went away", "requestId", x.ID, "error", err)
	}
}

// gzipThreshold is the size from which a response is compressed for a client that accepts it: about three network packets.
const gzipThreshold = 4 << 10

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is one of the package's own
	}
	return w
}}

func compress(text []byte) []byte {
	var compressed bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&compressed)
	_, _ = w.Write(text) // into memory: nothing can fail
	_ = w.Close()
	return compressed.Bytes()
}

// AcceptsGzip reads Accept-Encoding: gzip is listed, and not with the weight 0.
func AcceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == "gzip" {
			_, q, _ := strings.Cut(weight, "=")
			return strings.Trim(q, "0. ") != "" || weight == ""
		}
	}
	return false
}

// Refuse writes an error in the form that both families of SDKs read: one reads a header, the other the body.
func (x *Exchange) Refuse(err error) {
	refusal, status := ToWireError(err)
	x.refusal = refusal
	if x.Format == QueryXML {
		x.refuseXML(refusal, status)
		return
	}
	switch {
	case status < http.StatusInternalServerError, refusal.Type == Throttled:
	case x.Context().Err() != nil: // no fault: the client is gone
		x.Log.Debug("the client went away", "requestId", x.ID, "path", x.Request.URL.Path, "error", err)
	default:
		x.Log.Error("request failed", "requestId", x.ID, "path", x.Request.URL.Path, "error", err)
	}
	if x.Format == AWSJSON && refusal.Type == wire.AccessDenied {
		status = http.StatusBadRequest // as the model of ECS has it
	}
	x.Header().Set("X-Amzn-ErrorType", refusal.Type)
	if x.Format == CBOR {
		x.refuseCBOR(refusal, status)
		return
	}
	x.Reply(status, refusal)
}

// Warn adds warnings to the response: what was accepted but does not do what the caller may think.
func (x *Exchange) Warn(warnings []string) {
	for _, warning := range warnings {
		x.Header().Add(headerWarning, strings.Join(strings.Fields(warning), " "))
	}
}

const (
	headerWarning  = "X-Pinion-Warning"
	headerRepeated = "X-Pinion-Repeated"
)

// Answer is the JSON of a response, which can be given once more.
type Answer struct {
	status   int
	text     []byte
	warnings []string
}

// NewAnswer is an answer with this JSON.
func NewAnswer(status int, text []byte) *Answer { return &Answer{status: status, text: text} }

// Size is about the memory that it holds.
func (a *Answer) Size() int { return len(a.text) + 256 }

// Answer is the response that was written; nil while there is none, and for one that was not JSON as a whole.
func (x *Exchange) Answer() *Answer {
	if x.answer.text == nil {
		return nil
	}
	answer := x.answer
	return &answer
}

// ReplyAgain gives the answer of an earlier request, and says so in a header.
func (x *Exchange) ReplyAgain(a *Answer) {
	x.Header()[headerWarning] = a.warnings
	x.Header().Set(headerRepeated, "true")
	x.ReplyEncoded(a.status, a.text)
}
