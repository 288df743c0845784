package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// asker repeats one question over one connection that is kept, signing it anew each time. It is lean, because it shares the
// cores with the host that is measured: it keeps its signing key as the SDKs do, writes each request at once, and of an
// answer reads the status, the length and whether it holds what was asked for.
type asker struct {
	conn    *tls.Conn
	in      *bufio.Reader
	request *http.Request
	signer  *v4.Signer
	key     credentials
	body    []byte
	hash    string
	wanted  []byte
	out     bytes.Buffer
	answer  []byte
}

// asker opens the connection. Every answer must hold what is wanted.
func (c credentials) asker(ctx context.Context, operation string, body []byte, wanted string) (*asker, error) {
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, err
	}
	config, err := c.tls()
	if err != nil {
		return nil, err
	}
	request, err := c.request(ctx, operation, body)
	if err != nil {
		return nil, err
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", endpoint.Host)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return &asker{
		conn: conn.(*tls.Conn), in: bufio.NewReaderSize(conn, 16<<10), request: request, signer: v4.NewSigner(), key: c,
		body: body, hash: hex.EncodeToString(sum[:]), wanted: []byte(wanted),
	}, nil
}

// ask answers how long it took from the first byte that was sent to the last one that came.
func (a *asker) ask() (time.Duration, error) {
	if err := a.signer.SignHTTP(a.request.Context(), a.key.aws(), a.request, a.hash, "ecs", "us-east-1", time.Now()); err != nil {
		return 0, err
	}
	a.out.Reset()
	fmt.Fprintf(&a.out, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", a.request.Host, len(a.body))
	for name, values := range a.request.Header {
		a.out.WriteString(name + ": " + values[0] + "\r\n")
	}
	a.out.WriteString("\r\n")
	a.out.Write(a.body)
	begin := time.Now()
	if err := a.conn.SetDeadline(begin.Add(callPatience)); err != nil {
		return 0, err
	}
	if _, err := a.conn.Write(a.out.Bytes()); err != nil {
		return 0, err
	}
	status, err := a.read()
	took := time.Since(begin)
	if err == nil && (!bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) || !bytes.Contains(a.answer, a.wanted)) {
		err = fmt.Errorf("%s: %s", status, a.answer)
	}
	return took, err
}

// read takes one answer in.
func (a *asker) read() (status []byte, err error) {
	line, err := a.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	status, length := slices.Clone(bytes.TrimSpace(line)), -1
	for {
		line, err := a.in.ReadSlice('\n')
		if err != nil {
			return status, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(": ")); bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return status, err
			}
		}
	}
	if length < 0 {
		return status, fmt.Errorf("%s: the answer does not tell its length", status)
	}
	a.answer = slices.Grow(a.answer[:0], length)[:length]
	_, err = io.ReadFull(a.in, a.answer)
	return status, err
}

func (a *asker) close() { a.conn.Close() }

// askFor asks again and again for so long, and answers how long each took.
func (a *asker) askFor(span time.Duration) (samples []time.Duration, err error) {
	for end := time.Now().Add(span); time.Now().Before(end); {
		took, err := a.ask()
		if err != nil {
			return samples, err
		}
		samples = append(samples, took)
	}
	if len(samples) < fewest {
		return samples, fmt.Errorf("only %d answers in %v: this machine is too busy to measure on", len(samples), span)
	}
	return slices.Clip(samples), nil
}
