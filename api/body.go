package api

import (
	"errors"
	"io"
	"net/http"
	"time"

	"pinion/api/wire"
)

// drained is how much of a body that is too large is read and thrown away, so that its sender gets to read the answer.
const drained = 16 << 20

// readBody reads a request's body within the limits of size and time.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	// A transport without deadlines (a test's recorder) has no slow clients either.
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, wire.Errorf(requestTimeout, "The request body did not arrive whole: %v", bodyProblem(err))
	}
	if len(body) > maxBody {
		_, _ = io.CopyN(io.Discard, r.Body, drained)
		return nil, wire.Errorf(tooLarge, "The request body is larger than %d bytes (1 MiB), which is the most that is accepted.", maxBody)
	}
	return body, nil
}

func bodyProblem(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("nothing came for too long")
	}
	return err
}
