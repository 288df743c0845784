package httpx

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzip"

	"pinion/api/wire"
)

// discardLimit is how much of a body that is too large is read and thrown away, so that its sender gets to read the
// response.
const discardLimit = 16 << 20

// Admit reads the request's body into x within the limits on size and time, and then takes a slot among the requests in
// flight. The slot is taken last, so that a client that is slow to send holds none, and is released when the response
// begins.
func (l *Limits) Admit(x *Exchange) error {
	ended, free := l.Open.TryAcquire(x.LimitAddress())
	if !free {
		return ErrThrottled("open requests and streams")
	}
	x.onEnd = append(x.onEnd, ended)
	body, err := l.readBody(x)
	if err != nil {
		return err
	}
	if len(body) > wire.SmallInput || x.Request.Header.Get("Content-Encoding") != "" {
		release, free := l.LargeInputs.TryAcquire(x.LimitAddress())
		if !free {
			return ErrThrottled("requests with large inputs")
		}
		x.onHeader = append(x.onHeader, release)
	}
	release, free := l.InFlight.TryAcquire(x.LimitAddress())
	if !free {
		return ErrThrottled("requests")
	}
	x.Body, x.inFlight, x.answers = body, release, &l.Answers
	return nil
}

// AdmitStream takes a slot for a request whose body is a stream that goes on beside the response. The endpoint reads it, and bounds what it holds
// of it.
func (l *Limits) AdmitStream(x *Exchange) error {
	ended, free := l.Open.TryAcquire(x.LimitAddress())
	if !free {
		return ErrThrottled("open requests and streams")
	}
	x.onEnd = append(x.onEnd, ended)
	return nil
}

// AdmitUpload is AdmitStream for a request whose body has an end, which the endpoint reads before it answers.
func (l *Limits) AdmitUpload(x *Exchange) error {
	x.Upload = true
	return l.AdmitStream(x)
}

// readBody reads a bounded number of bodies at once, and holds fewer large ones.
func (l *Limits) readBody(x *Exchange) ([]byte, error) {
	if x.Request.ContentLength == 0 {
		return nil, nil
	}
	release, free := l.Bodies.TryAcquire(x.LimitAddress())
	if !free {
		return nil, ErrThrottled("requests that are still arriving")
	}
	defer release()
	control := x.Controller()
	// A transport without deadlines (a test's recorder) has no slow clients either.
	_ = control.SetReadDeadline(time.Now().Add(BodyTimeout))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	body, err := readAtMost(x.Request.Body, SmallBody)
	if err == nil && len(body) > SmallBody {
		if x.Request.Method == http.MethodGet || x.Request.Method == http.MethodHead { // which may stream for hours, and would hold it as long
			return nil, wire.Errorf(wire.InvalidParameter, "A request with the method %s takes no body of more than %d bytes: leave it out, and say in the query what is wanted.", x.Request.Method, SmallBody)
		}
		release, free := l.LargeBodies.TryAcquire(x.LimitAddress())
		if !free {
			return nil, ErrThrottled("large requests")
		}
		x.onEnd = append(x.onEnd, release)
		var rest []byte
		rest, err = readAtMost(x.Request.Body, MaxBody-len(body))
		body = append(body, rest...)
	}
	if err != nil {
		return nil, wire.Errorf(RequestTimeout, "The request body did not arrive whole: %v", bodyError(err))
	}
	if len(body) > MaxBody {
		_, _ = io.CopyN(io.Discard, x.Request.Body, discardLimit)
		return nil, errTooLarge()
	}
	return body, nil
}

// readAtMost reads at most one byte more than limit; the extra byte tells that there is more.
func readAtMost(r io.Reader, limit int) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, int64(limit)+1))
}

func errTooLarge() error {
	return wire.Errorf(TooLarge, "The request body is larger than %d bytes (1 MiB), which is the most that is accepted.", MaxBody)
}

func bodyError(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("nothing came for too long")
	}
	return err
}

// Decompress replaces a gzip body by its content. A signature covers the body as it was sent, so this comes after
// authentication.
func Decompress(x *Exchange) error {
	switch encoding := x.Request.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return nil
	case "gzip":
	default:
		return wire.Errorf(wire.Serialization, "A body with Content-Encoding %q cannot be read: send it as it is, or with gzip.", encoding)
	}
	in, err := gzip.NewReader(bytes.NewReader(x.Body))
	if err != nil {
		return wire.Errorf(wire.Serialization, "The body is not gzip, as its Content-Encoding says: %v", err)
	}
	var content []byte
	err = wire.Bounded(MaxBody, func() (err error) {
		content, err = readAtMost(in, MaxBody)
		return err
	})
	if err != nil {
		return wire.Errorf(wire.Serialization, "The gzip body is damaged: %v", err)
	}
	if len(content) > MaxBody {
		return errTooLarge()
	}
	x.Body = content
	return nil
}
