package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"syscall"
)

// APIError is an error that the host answered: ECS's error type and a message for people.
type APIError struct {
	Type    string // "ClusterNotFoundException"
	Message string
	Status  int // HTTP status
}

func (e *APIError) Error() string { return e.Message }

// ErrUnreachable is wrapped by the error of a request without an answer: nobody listens, or the host is not trusted.
var ErrUnreachable = errors.New("host unreachable")

const maxErrorBody = 64 << 10

func readAPIError(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	if err != nil {
		return fmt.Errorf("the host answered %s, and the answer was cut off: %w", response.Status, err)
	}
	var document struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &document) != nil || document.Message == "" {
		return &APIError{Status: response.StatusCode, Type: document.Type,
			Message: strings.TrimSpace(fmt.Sprintf("the host answered %s %s", response.Status, firstLine(body)))}
	}
	_, name, found := strings.Cut(document.Type, "#")
	if !found {
		name = document.Type
	}
	return &APIError{Type: name, Message: document.Message, Status: response.StatusCode}
}

func firstLine(body []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	return line
}

// unreachableError is a failed connection, explained for people.
type unreachableError struct {
	text  string
	cause error
}

func (e *unreachableError) Error() string   { return e.text }
func (e *unreachableError) Unwrap() []error { return []error{ErrUnreachable, e.cause} }

// connectionError explains a failed connection and what to do about it.
func (t *transport) connectionError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if t.config.Host == "" {
		return &unreachableError{text: socketErrorText(t.config.Socket, err), cause: err}
	}
	return &unreachableError{text: networkErrorText(t.config, err), cause: err}
}

func socketErrorText(path string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("no host runs here: there is no %s. Start one with `sudo pinion up`, or name another with --data-dir or --host", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("%s may be used by root only. Run this with sudo, or talk over the network with --host and an access key", path)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("no Pinion host is running at %s. Start it with `sudo pinion up`", path)
	}
	return fmt.Sprintf("the host at %s does not answer: %v. See its log", path, rootCause(err))
}

func networkErrorText(config Config, err error) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return fmt.Sprintf("the certificate of %s is not signed by %s. Pass the host's CA file with --ca (`pinion env` on the host names it); if the pool's CA was rotated, fetch that file again (`pinion ca get` on a host prints it)", config.Host, caName(config))
	case errors.As(err, &name):
		return fmt.Sprintf("the certificate of %s is for other names: %v. Use one of those, or start the host with --advertise", config.Host, name)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Sprintf("%s does not speak TLS. Is it the port of a pinion host (7400 unless it was started with --listen)?", config.Host)
	}
	return fmt.Sprintf("cannot reach %s: %v. Is pinion up there, and is the port open?", config.Host, rootCause(err))
}

func caName(config Config) string {
	if config.CAFile == "" {
		return "a CA that this machine knows"
	}
	return "the CA in " + config.CAFile
}

// rootCause is the innermost error: the outer ones repeat the address.
func rootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
