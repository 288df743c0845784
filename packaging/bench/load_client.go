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

// loadClient repeats one request over one connection that is kept, signing it anew each time. It is lean, because it shares the
// cores with the host that is measured: it keeps its signing key as the SDKs do, writes each request at once, and of an
// answer reads the status, the length and whether it holds what was asked for.
type loadClient struct {
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

// loadClient opens the connection. Every answer must hold what is wanted.
func (k credentials) loadClient(ctx context.Context, operation string, body []byte, wanted string) (*loadClient, error) {
	endpoint, err := url.Parse(k.Endpoint)
	if err != nil {
		return nil, err
	}
	config, err := k.tls()
	if err != nil {
		return nil, err
	}
	request, err := k.request(ctx, operation, body)
	if err != nil {
		return nil, err
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", endpoint.Host)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return &loadClient{
		conn: conn.(*tls.Conn), in: bufio.NewReaderSize(conn, 16<<10), request: request, signer: v4.NewSigner(), key: k,
		body: body, hash: hex.EncodeToString(sum[:]), wanted: []byte(wanted),
	}, nil
}

// send returns the time from the first byte sent to the last byte received.
func (c *loadClient) send() (time.Duration, error) {
	if err := c.signer.SignHTTP(c.request.Context(), c.key.aws(), c.request, c.hash, "ecs", "us-east-1", time.Now()); err != nil {
		return 0, err
	}
	c.out.Reset()
	fmt.Fprintf(&c.out, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", c.request.Host, len(c.body))
	for name, values := range c.request.Header {
		c.out.WriteString(name + ": " + values[0] + "\r\n")
	}
	c.out.WriteString("\r\n")
	c.out.Write(c.body)
	begin := time.Now()
	if err := c.conn.SetDeadline(begin.Add(callTimeout)); err != nil {
		return 0, err
	}
	if _, err := c.conn.Write(c.out.Bytes()); err != nil {
		return 0, err
	}
	status, err := c.read()
	took := time.Since(begin)
	if err == nil && (!bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) || !bytes.Contains(c.answer, c.wanted)) {
		err = fmt.Errorf("%s: %s", status, c.answer)
	}
	return took, err
}

// read reads one answer.
func (c *loadClient) read() (status []byte, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	status, length := slices.Clone(bytes.TrimSpace(line)), -1
	for {
		line, err := c.in.ReadSlice('\n')
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
	c.answer = slices.Grow(c.answer[:0], length)[:length]
	_, err = io.ReadFull(c.in, c.answer)
	return status, err
}

func (c *loadClient) close() { c.conn.Close() }

// sendFor repeats the request for the span, and returns the time of each.
func (c *loadClient) sendFor(span time.Duration) (samples []time.Duration, err error) {
	for end := time.Now().Add(span); time.Now().Before(end); {
		took, err := c.send()
		if err != nil {
			return samples, err
		}
		samples = append(samples, took)
	}
	if len(samples) < minRepeats {
		return samples, fmt.Errorf("only %d answers in %v: this machine is too busy to measure on", len(samples), span)
	}
	return slices.Clip(samples), nil
}
