package logforward

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"pinion/node/logs"
	"pinion/raftfsm/logdriver"
)

// splunk sends lines to an HTTP Event Collector of Splunk, as Docker's driver does.
type splunk struct {
	note        *forwardRecord
	options     map[string]string
	tag, host   string
	url         string
	client      *http.Client
	splunkToken string
}

func newSplunk(n *forwardRecord, to logdriver.Destination, d *dialer, token, host string) *splunk {
	o, scheme := n.Log.Options, "http://"
	if to.TLS {
		scheme = "https://"
	}
	return &splunk{
		note: n, options: o, tag: n.tag(), host: host, splunkToken: token, url: scheme + to.Where + "/services/collector/event/1.0",
		client: &http.Client{
			Timeout:       dialTimeout + stallTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would lead elsewhere, with the token
			Transport: &http.Transport{
				DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return d.dial(ctx, to) },
				TLSClientConfig:     &tls.Config{InsecureSkipVerify: o["splunk-insecureskipverify"] == "true", ServerName: o["splunk-caname"], MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout: dialTimeout, MaxConnsPerHost: 1, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
			},
		},
	}
}

func (s *splunk) close() { s.client.CloseIdleConnections() }

// splunkEvent is one event of the collector.
type splunkEvent struct {
	Event      any    `json:"event"`
	Time       string `json:"time"`
	Host       string `json:"host"`
	Source     string `json:"source,omitempty"`
	SourceType string `json:"sourcetype,omitempty"`
	Index      string `json:"index,omitempty"`
}

// splunkLine is the event of the formats inline and json.
type splunkLine struct {
	Line   any               `json:"line"`
	Source string            `json:"source"`
	Tag    string            `json:"tag,omitempty"`
	Attrs  map[string]string `json:"attrs,omitempty"`
}

func (s *splunk) event(l *logs.StreamLine) ([]byte, error) {
	e := splunkEvent{
		Time: fmt.Sprintf("%d.%06d", l.Time.Unix(), l.Time.Nanosecond()/1000), Host: s.host,
		Source: s.options["splunk-source"], SourceType: s.options["splunk-sourcetype"], Index: s.options["splunk-index"],
	}
	line := splunkLine{Line: l.Text, Source: sourceOf(l), Tag: s.tag, Attrs: s.note.Extra}
	switch s.options["splunk-format"] {
	case "raw":
		text := s.tag + " "
		for _, name := range slices.Sorted(maps.Keys(s.note.Extra)) {
			text += name + "=" + s.note.Extra[name] + " "
		}
		e.Event = text + l.Text
	case "json":
		if json.Valid([]byte(l.Text)) {
			line.Line = json.RawMessage(l.Text)
		}
		e.Event = line
	default:
		e.Event = line
	}
	return json.Marshal(e)
}

// maxSplunkAnswer bounds an answer, in bytes.
const maxSplunkAnswer = 4 << 10

// send implements sender. The collector has the lines when it answers 200. What it answers with 400 or 413 to one line, it never takes.
func (s *splunk) send(ctx context.Context, lines []logs.StreamLine) error {
	var body bytes.Buffer
	for i := range lines {
		event, err := s.event(&lines[i])
		if err != nil {
			return &rejectedError{err}
		}
		body.Write(event)
	}
	var text io.Reader = &body
	zipped := s.options["splunk-gzip"] == "true"
	if zipped {
		compressed, err := s.compress(body.Bytes())
		if err != nil {
			return err
		}
		text = compressed
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, text)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Splunk "+s.splunkToken)
	request.Header.Set("Content-Type", "application/json")
	if zipped {
		request.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxSplunkAnswer))
	if err != nil {
		return err
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return &rejectedError{fmt.Errorf("%s: %.200s", answer.Status, s.without(said))}
	}
	return fmt.Errorf("the collector answers %s: %.200s", answer.Status, s.without(said))
}

// without is the text of a collector's answer, on one line and without the token.
func (s *splunk) without(said []byte) string {
	text := strings.Join(strings.Fields(string(said)), " ")
	if s.splunkToken == "" {
		return text
	}
	return strings.ReplaceAll(text, s.splunkToken, "...")
}

func (s *splunk) compress(text []byte) (*bytes.Buffer, error) {
	level, err := strconv.Atoi(s.options["splunk-gzip-level"])
	if err != nil {
		level = gzip.DefaultCompression
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(text)
	return &b, errors.Join(err, w.Close())
}
