package target

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"pinion/raftfsm/traffic"
)

// ELB's reasons of targets that are unhealthy.
const (
	reasonTimeout  = "Target.Timeout"
	reasonFailed   = "Target.FailedHealthChecks"
	reasonMismatch = "Target.ResponseCodeMismatch"
)

// Bounds of an answer, whatever a container sends: the head, which the proxy holds to the same bound, and how much is read of the body.
const (
	maxHead = 64 << 10
	maxBody = 64 << 10
)

// once checks the target once.
func (k *check) once(ctx context.Context) (passed bool, reason, detail string) {
	ctx, cancel := context.WithTimeout(ctx, k.health.Timeout)
	defer cancel()
	address := k.address
	if host, _, err := net.SplitHostPort(address); err == nil && k.health.Port != 0 {
		address = net.JoinHostPort(host, strconv.Itoa(k.health.Port))
	}
	code, err := 0, error(nil)
	if k.health.Protocol == traffic.TCP {
		err = dial(ctx, address)
	} else {
		code, err = k.ask(ctx, address)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded):
		return false, reasonTimeout, "Request timed out"
	case err != nil:
		return false, reasonFailed, "Health checks failed: " + err.Error()
	case k.health.Protocol != traffic.TCP && !matches(k.health.Matcher, k.version, code):
		return false, reasonMismatch, fmt.Sprintf("Health checks failed with these codes: [%d]", code)
	}
	return true, "", ""
}

func dial(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// ask sends a request over a connection of its own, and returns the status of the answer; of gRPC, that of the call.
func (k *check) ask(ctx context.Context, address string) (code int, err error) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(k.version != traffic.HTTP2 && k.version != traffic.GRPC)
	protocols.SetUnencryptedHTTP2(!protocols.HTTP1())
	client := &http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true, Protocols: protocols, MaxResponseHeaderBytes: maxHead,
			HTTP2: &http.HTTP2Config{MaxReceiveBufferPerConnection: maxBody, MaxReceiveBufferPerStream: maxBody},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	method, body := http.MethodGet, []byte(nil)
	if k.version == traffic.GRPC {
		method, body = http.MethodPost, make([]byte, 5) // an empty message
	}
	path, err := url.Parse(cmp.Or(k.health.Path, "/"))
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+path.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("User-Agent", "ELB-HealthChecker/2.0")
	if k.version == traffic.GRPC {
		request.Header.Set("Content-Type", "application/grpc")
		request.Header.Set("Te", "trailers")
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody))
	if k.version != traffic.GRPC {
		return answer.StatusCode, nil
	}
	if err != nil {
		return 0, err
	}
	status := cmp.Or(answer.Trailer.Get("Grpc-Status"), answer.Header.Get("Grpc-Status"))
	if code, err = strconv.Atoi(status); err != nil {
		return 0, fmt.Errorf("the answer of status %d has no gRPC status", answer.StatusCode)
	}
	return code, nil
}

// matches reports whether a code is in a matcher, as "200,202" or "200-299"; empty is ELB's default.
func matches(matcher string, version traffic.Version, code int) bool {
	if matcher == "" {
		matcher = "200"
		if version == traffic.GRPC {
			matcher = "12"
		}
	}
	for _, part := range strings.Split(matcher, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.Atoi(low)
		to, errTo := from, error(nil)
		if isRange {
			to, errTo = strconv.Atoi(high)
		}
		if err == nil && errTo == nil && from <= code && code <= to {
			return true
		}
	}
	return false
}
