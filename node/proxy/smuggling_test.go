package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// form is one way to have two programs disagree on where a request ends or what it is. After it the client sends GET /end: when saw has that, the
// connection goes on; when it has not, the proxy has closed it.
type form struct {
	name, sent string
	saw        string // by the target, see strictTarget
	answers    string // the status of each
}

const (
	post    = "POST / HTTP/1.1\r\nHost: a\r\n"
	get     = "GET / HTTP/1.1\r\nHost: a\r\n"
	chunks  = "5\r\nhello\r\n0\r\n\r\n"
	whole   = "POST / a hello"
	andEnd  = " | GET /end a"
	refused = "400"
)

var lengthForms = []form{
	{"a length", post + "Content-Length: 5\r\n\r\nhello", whole + andEnd, "200 200"},
	{"CL.TE", post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG", "POST / a", "200"},
	{"TE.CL", post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n" + chunks, whole, "200"},
	{"TE.TE, one of them odd", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n\r\n" + chunks, "", "501"},
	{"TE.TE, both chunked", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, "", "501"},
	{"xchunked", post + "Transfer-Encoding: xchunked\r\n\r\n" + chunks, "", "501"},
	{"identity, chunked", post + "Transfer-Encoding: identity, chunked\r\n\r\n" + chunks, "", "501"},
	{"chunked, identity", post + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunks, "", "501"},
	{"quoted chunked", post + "Transfer-Encoding: \"chunked\"\r\n\r\n" + chunks, "", "501"},
	{"empty encoding", post + "Transfer-Encoding: \r\n\r\n" + chunks, "", "501"},
	{"vertical tab before chunked", post + "Transfer-Encoding: \x0bchunked\r\n\r\n" + chunks, "", refused},
	{"tab before chunked", post + "Transfer-Encoding:\tchunked\r\n\r\n" + chunks, whole, "200"},
	{"space before the colon", post + "Transfer-Encoding : chunked\r\n\r\n" + chunks, "", refused},
	{"tab before the colon", post + "Content-Length\t: 5\r\n\r\nhello", "", refused},
	{"NUL in the name", post + "Transfer-Encoding\x00: chunked\r\n\r\n" + chunks, "", refused},
	{"two different lengths", post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "", refused},
	{"the same length twice", post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", whole + andEnd, "200 200"},
	{"a list of lengths", post + "Content-Length: 5, 5\r\n\r\nhello", "", refused},
	{"a length with a sign", post + "Content-Length: +5\r\n\r\nhello", "", refused},
	{"a negative length", post + "Content-Length: -1\r\n\r\nhello", "", refused},
	{"a length in hexadecimal", post + "Content-Length: 0x5\r\n\r\nhello", "", refused},
	{"a length in two words", post + "Content-Length: 5 5\r\n\r\nhello", "", refused},
	{"a length beyond 64 bits", post + "Content-Length: 36893488147419103237\r\n\r\nhello", "", refused},
	{"an empty length", post + "Content-Length: \r\n\r\nhello", "", refused},
	{"a length with an underscore", post + "Content_Length: 5\r\n\r\n", "POST / a" + andEnd, "200 200"},
	{"a length in a folded line", post + "X: a\r\n Content-Length: 5\r\n\r\n", "POST / a" + andEnd, "200 200"},
	{"a body of GET", get + "Content-Length: 5\r\n\r\nhello", "GET / a hello" + andEnd, "200 200"},
	{"a length as hop-by-hop", post + "Connection: Content-Length\r\nContent-Length: 5\r\n\r\nhello", whole + andEnd, "200 200"},
	{"an encoding as hop-by-hop", post + "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, whole, "200"},
	{"an encoding in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, "POST / a", "200"},
	{"HTTP/1.0 that wants to go on", "POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", whole, "200"},
}

var chunkForms = []form{
	{"chunks", post + "Transfer-Encoding: chunked\r\n\r\n" + chunks, whole, "200"},
	{"an extension", chunked("5;a=b\r\nhello\r\n0\r\n\r\n"), whole, "200"},
	{"an extension with LF", chunked("5;\nhello\r\n0\r\n\r\n"), "", refused},
	{"an extension with CR", chunked("5;a\rb\r\nhello\r\n0\r\n\r\n"), "", refused},
	{"an extension without end", chunked("5;" + strings.Repeat("x", 10_000) + "\r\nhello\r\n0\r\n\r\n"), "", refused},
	{"LF after the size", chunked("5\nhello\r\n0\r\n\r\n"), "", refused},
	{"LF after the chunk", chunked("5\r\nhello\n0\r\n\r\n"), "", refused},
	{"a size in C's hexadecimal", chunked("0x5\r\nhello\r\n0\r\n\r\n"), "", refused},
	{"a size with a sign", chunked("+5\r\nhello\r\n0\r\n\r\n"), "", refused},
	{"a size beyond 64 bits", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n"), "", refused},
	{"a chunk that is longer than its size", chunked("5\r\nhelloX\r\n0\r\n\r\n"), "", refused},
	{"no size", chunked("\r\nhello\r\n0\r\n\r\n"), "", refused},
	{"a length as trailer", chunked("5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n"), whole, "200"},
	{"an unannounced trailer", chunked("5\r\nhello\r\n0\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n"), whole, "200"},
}

func chunked(body string) string { return post + "Transfer-Encoding: chunked\r\n\r\n" + body }

var lineForms = []form{
	{"LF alone", "GET / HTTP/1.1\nHost: a\nX: y\n\n", "GET / a" + andEnd, "200 200"},
	{"LF alone in the middle", get + "X: y\nContent-Length: 5\r\n\r\nhello", "GET / a hello" + andEnd, "200 200"},
	{"CR alone in a value", get + "X: y\rContent-Length: 5\r\n\r\n", "", refused},
	{"NUL in a value", get + "X: a\x00b\r\n\r\n", "", refused},
	{"a folded value", get + "X: a\r\n b\r\n\r\n", "GET / a" + andEnd, "200 200"},
	{"a folded first line", "GET / HTTP/1.1\r\n X: y\r\nHost: a\r\n\r\n", "", refused},
	{"no colon", get + "Content-Length\r\n\r\n", "", refused},
	{"no name", get + ": x\r\n\r\n", "", refused},
	{"a name beyond ASCII", get + "Content-L\xc3\xa9ngth: 5\r\n\r\n", "", refused},
	{"empty lines before", "\r\n\r\n" + get + "\r\n", "", refused},
	{"two spaces in the request line", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "", refused},
	{"tabs in the request line", "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", "", refused},
	{"a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "", refused},
	{"a control character in the target", "GET /a\x01 HTTP/1.1\r\nHost: a\r\n\r\n", "", refused},
	{"a fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a%23b a" + andEnd, "200 200"},
	{"a method that is no token", "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n", "", refused},
	{"HTTP/0.9", "GET /\r\n\r\n", "", refused},
	{"HTTP/2.0 in a line", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "", "505"},
	{"HTTP/1.10", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", "", refused},
	{"http in small letters", "GET / http/1.1\r\nHost: a\r\n\r\n", "", refused},
	{"absolute-form of another host", "GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x b" + andEnd, "200 200"},
	{"absolute-form without path", "GET http://b HTTP/1.1\r\nHost: a\r\n\r\n", "", refused},
	{"authority-form", "CONNECT b:80 HTTP/1.1\r\nHost: b:80\r\n\r\n", "", "405"},
	{"asterisk-form", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "", refused},
	{"no host", "GET / HTTP/1.1\r\n\r\n", "", refused},
	{"two hosts", get + "Host: b\r\n\r\n", "", refused},
	{"a host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "", refused},
	{"a host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "", refused},
	{"an upgrade to h2c", get + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n", "GET / a" + andEnd, "200 200"},
	{"an upgrade to two", get + "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n\r\n", "GET / a" + andEnd, "200 200"},
	{"a WebSocket with a body", post + "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\nhello", "", refused},
	{"an unknown expectation", post + "Expect: the best\r\nContent-Length: 5\r\n\r\nhello", "", "417"},
	{"a header bomb", get + "X: " + strings.Repeat("x", 100_000) + "\r\n\r\n", "", "431"},
	{"many headers", get + strings.Repeat("X: y\r\n", 1000) + "\r\n", "", "431"},
	{"a header of 20 KiB", get + "X: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", "", "431"},
	{"a target of 100 KB", "GET /" + strings.Repeat("x", 100_000) + " HTTP/1.1\r\nHost: a\r\n\r\n", "", "431"},
}

func TestRequestsAreReadInOneWayOrRefused(t *testing.T) {
	for _, forms := range [][]form{lengthForms, chunkForms, lineForms} {
		for _, f := range forms {
			t.Run(f.name, func(t *testing.T) {
				s, strict := newSite(t), &strictTarget{}
				s.apply(toGroup(group("web", s.tcpServer(strict.serve))))
				conn := s.dial(80)
				go func() {
					_, _ = io.WriteString(conn, f.sent+"GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
				}()
				answers := statuses(bufio.NewReader(conn))
				if strict.saw() != f.saw || answers != f.answers {
					t.Errorf("the target saw %q, the client got %q;\nwant %q and %q", strict.saw(), answers, f.saw, f.answers)
				}
			})
		}
	}
}

// statuses are the statuses of all answers until the proxy closes the connection.
func statuses(r *bufio.Reader) string {
	var all []string
	for {
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			return strings.Join(all, " ")
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		all = append(all, fmt.Sprint(answer.StatusCode))
	}
}
