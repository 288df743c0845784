package http1_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pinion/node/proxy/http1"
)

// answers are possible answers of servers; those of a server that then closes the connection end with "!".
var answers = []string{
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
	"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!",
	"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello!",
	"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello!",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n5\r\nhello\r\n0\r\nSum: 1\r\nOther: 2\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n!",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nhello\r\n0\r\n\r\n!",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n!",
	"HTTP/1.1 200 OK\r\n\r\nuntil the end!",
	"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello!",
	"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello!",
	"HTTP/1.0 200 OK\r\n\r\nuntil the end!",
	"HTTP/1.1 204 No Content\r\nX: y\r\n\r\n",
	"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
	"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n!",
	"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </b>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nx-odd: Y\r\n  folded\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nX : y\r\nContent-Length: 0\r\n\r\n!",
	"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70_000) + "\r\nContent-Length: 0\r\n\r\n!",
	"HTTP/1.1 2000 OK\r\n\r\n!", "HTTP/1.1 abc\r\n\r\n!", "HTTP/2.0 200 OK\r\n\r\n!", "no HTTP\r\n\r\n!", "\r\n!", "!",
}

// scripted is a server that answers each request as its path says, and what it saw of them.
type scripted struct {
	net.Listener
	seen chan string
}

func newScripted(t *testing.T) *scripted {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{l, make(chan string, 100)}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *scripted) serve(conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		s.seen <- fmt.Sprintln(r.Method, r.RequestURI, r.Host, sorted(r.Header), r.ContentLength, r.TransferEncoding, len(body), err)
		if err != nil {
			return
		}
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		text, closes := strings.CutSuffix(answers[n], "!")
		if r.Method == http.MethodHead && !strings.HasPrefix(text, "HTTP/1.1 1") {
			head, _, _ := strings.Cut(text, "\r\n\r\n")
			text = head + "\r\n\r\n"
		}
		_, _ = io.WriteString(conn, text)
		if closes {
			return
		}
	}
}

func sorted(h map[string][]string) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		lines = append(lines, fmt.Sprintf("%s=%q", name, h[name]))
	}
	return lines
}

// send is either transport; informed is told of 1xx.
type send func(r *http.Request, informed func(int, http.Header)) (*http.Response, error)

func asHTTP1(t *http1.Transport) send {
	return func(r *http.Request, informed func(int, http.Header)) (*http.Response, error) {
		return t.Send(r, http1.Options{Informed: informed})
	}
}

func asStandard(t *http.Transport) send {
	return func(r *http.Request, informed func(int, http.Header)) (*http.Response, error) {
		trace := &httptrace.ClientTrace{Got1xxResponse: func(status int, h textproto.MIMEHeader) error { informed(status, http.Header(h)); return nil }}
		return t.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	}
}

// result is all that a caller can see of an exchange.
func result(send send, r *http.Request) string {
	var all strings.Builder
	answer, err := send(r, func(status int, h http.Header) { fmt.Fprintln(&all, status, sorted(h)) })
	if err != nil {
		return all.String() + "an error"
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	fmt.Fprintf(&all, "%d %v %d %v %q %v %v", answer.StatusCode, sorted(answer.Header), answer.ContentLength, answer.Close, body, err != nil, sorted(answer.Trailer))
	return all.String()
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// TestItDoesAsTheStandardTransport: any request, any answer, over connections that are kept: servers see the same, and so do callers.
func TestItDoesAsTheStandardTransport(t *testing.T) {
	server := newScripted(t)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	standard := &http.Transport{Protocols: protocols, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10}
	ours := &http1.Transport{Dial: dial}
	defer standard.CloseIdleConnections()
	defer ours.CloseIdleConnections()
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE", "GE T"}).Draw(t, "method")
		number := rapid.IntRange(0, len(answers)-1).Draw(t, "answer")
		query := rapid.SampledFrom([]string{"", "a=b&c", "x;y"}).Draw(t, "query")
		host := rapid.SampledFrom([]string{"", "a", "a:80", "[fe80::1%eth0]:80", "ä.test"}).Draw(t, "host")
		header := http.Header{"User-Agent": {""}}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"X", "x_y", "Cookie", "Expect", "Upgrade", "Te", "Content-Length", "Host", "Trailer", "bad name", "Bad-Value"}),
			rapid.ID).Draw(t, "headers") {
			header[name] = map[string][]string{"Bad-Value": {"a\r\nb: c"}, "X": {"1", " 2"}, "Expect": {"100-continue"}}[name]
			if header[name] == nil {
				header[name] = []string{"z"}
			}
		}
		length := rapid.SampledFrom([]int{0, 1, 4096, 100_000}).Draw(t, "length")
		declared := rapid.SampledFrom([]int{length, -1}).Draw(t, "declared")
		exchanged := func(send send) (saw, got string) {
			r := &http.Request{Method: method, Host: host, Header: header, ContentLength: int64(declared), URL: &url.URL{Scheme: "http", Host: server.Addr().String(), Path: fmt.Sprint("/", number), RawQuery: query}}
			if length > 0 {
				r.Body = io.NopCloser(strings.NewReader(strings.Repeat("b", length)))
			} else {
				r.ContentLength = 0
			}
			got = result(send, r.WithContext(context.Background()))
			for len(server.seen) > 0 {
				if line := <-server.seen; line != saw { // it may meet the end of a kept connection, and is sent again
					saw += line
				}
			}
			return saw, got
		}
		if strings.HasSuffix(answers[number], "!") { // what the end of a kept connection does to the next request is a matter of time
			defer standard.CloseIdleConnections()
			defer ours.CloseIdleConnections()
		}
		saw, got := exchanged(asHTTP1(ours))
		wantSaw, want := exchanged(asStandard(standard))
		if saw != wantSaw || got != want {
			t.Fatalf("the server saw\n%s, the caller got %s;\nthrough http.Transport\n%s and %s", saw, got, wantSaw, want)
		}
	})
}
