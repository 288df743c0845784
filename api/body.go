package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzip"

	"pinion/api/wire"
)

// discardLimit is how much of a body that is too large is read and thrown away, so that its sender gets to read the answer.
const discardLimit = 16 << 20

// receive takes a request in: it refuses what cannot be anybody's, reads the body, and only then takes a place among the
// requests under way, so that none is held by a client that is slow to send. It is given back when the answer begins.
func (d *door) receive(w http.ResponseWriter, r *http.Request) (body []byte, err error) {
	if err := d.formed(r); err != nil {
		return nil, err
	}
	if body, err = d.readBody(w, r); err != nil {
		return nil, err
	}
	leave, free := d.Limits.inFlight.tryAcquire()
	if !free {
		return nil, errThrottled("requests")
	}
	recorderOf(w).atAnswer = leave
	return body, nil
}

// readBody reads a request's body within the limits of size and time. Only so many large ones are held at once; small
// ones, which almost all are, always find room.
func (d *door) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	// A transport without deadlines (a test's recorder) has no slow clients either.
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	body, err := readAtMost(r.Body, smallBody)
	if err == nil && len(body) > smallBody {
		leave, free := d.Limits.largeBodies.tryAcquire()
		if !free {
			return nil, errThrottled("large requests")
		}
		recorderOf(w).atEnd = leave
		var rest []byte
		rest, err = readAtMost(r.Body, maxBody-len(body))
		body = append(body, rest...)
	}
	if err != nil {
		return nil, wire.Errorf(requestTimeout, "The request body did not arrive whole: %v", bodyProblem(err))
	}
	if len(body) > maxBody {
		_, _ = io.CopyN(io.Discard, r.Body, discardLimit)
		return nil, errTooLarge()
	}
	return body, nil
}

// readAtMost reads at most one byte more than most, which tells that there is more.
func readAtMost(r io.Reader, most int) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, int64(most)+1))
}

func errTooLarge() error {
	return wire.Errorf(tooLarge, "The request body is larger than %d bytes (1 MiB), which is the most that is accepted.", maxBody)
}

func bodyProblem(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("nothing came for too long")
	}
	return err
}

// decompress is what a body says: itself, or what was compressed into it. A signature covers it as it was sent, so this
// comes after the check.
func decompress(r *http.Request, body []byte) ([]byte, error) {
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return body, nil
	case "gzip":
	default:
		return nil, wire.Errorf(wire.Serialization, "A body with Content-Encoding %q cannot be read: send it as it is, or with gzip.", encoding)
	}
	in, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, wire.Errorf(wire.Serialization, "The body is not gzip, as its Content-Encoding says: %v", err)
	}
	text, err := readAtMost(in, maxBody)
	if err != nil {
		return nil, wire.Errorf(wire.Serialization, "The gzip body is damaged: %v", err)
	}
	if len(text) > maxBody {
		return nil, errTooLarge()
	}
	return text, nil
}
