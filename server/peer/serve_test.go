package peer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// serve answers on the listener until the test ends.
func serve(t *testing.T, l net.Listener, h http.HandlerFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, h, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func clientFor(t *testing.T, d *Dialer) *http.Client {
	client := d.HTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func TestARequestCarriesTheIDOfTheHostThatMadeIt(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	serve(t, port.Peer(), func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto+" "+HostID(r.Context())) })
	for _, hostID := range []string{"host-2", "host-3"} {
		response, err := clientFor(t, &Dialer{Identity: pool.host(hostID)}).Get("https://" + port.Addr().String() + "/peer/x")
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if string(got) != "HTTP/2.0 "+hostID {
			t.Errorf("got %q", got)
		}
	}
}

func TestAURLWithAHostIDReachesThatHostAlone(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	serve(t, port.Peer(), func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "here") })
	client := clientFor(t, &Dialer{Identity: pool.host("host-2"), Address: func(hostID string) string {
		return map[string]string{"host-1": port.Addr().String(), "host-3": port.Addr().String()}[hostID]
	}})
	response, err := client.Get("https://host-1/peer/x")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if _, err := client.Get("https://host-3/peer/x"); err == nil || !strings.Contains(err.Error(), "host host-1 answers there, not host host-3") {
		t.Errorf("another host answered for host-3: %v", err)
	}
}

func TestAHostWhoseAddressAnotherTookIsNotMistaken(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	serve(t, port.Peer(), func(http.ResponseWriter, *http.Request) { t.Error("the request arrived") })
	client := clientFor(t, &Dialer{Identity: pool.host("host-2"), Address: func(string) string { return port.Addr().String() }})
	if _, err := client.Get("https://host-3/peer/x"); err == nil {
		t.Error("another host answered")
	}
}

// countingListener is a listener that counts what it accepts.
type countingListener struct {
	net.Listener
	accepted atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return c, err
}

func TestManyCallsShareOneConnection(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	l := &countingListener{Listener: port.Peer()}
	all := make(chan struct{})
	var waiting atomic.Int64
	serve(t, l, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			return
		}
		if waiting.Add(1) == 50 {
			close(all)
		}
		<-all
	})
	client := clientFor(t, &Dialer{Identity: pool.host("host-2")})
	get := func(path string) {
		response, err := client.Get("https://" + port.Addr().String() + path)
		if err != nil {
			t.Error(err)
			return
		}
		response.Body.Close()
	}
	get("/first")
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { get("/all") })
	}
	group.Wait()
	if n := l.accepted.Load(); n != 1 {
		t.Errorf("51 calls took %d connections", n)
	}
}

func TestBothSidesOfAStreamSpeakAtOnce(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	serve(t, port.Peer(), func(w http.ResponseWriter, r *http.Request) {
		flush := http.NewResponseController(w)
		_ = flush.Flush()
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			fmt.Fprintln(w, "heard", lines.Text())
			_ = flush.Flush()
		}
	})
	body, out := io.Pipe()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+port.Addr().String()+"/peer/session", body)
	response, err := clientFor(t, &Dialer{Identity: pool.host("host-2")}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for i := range 3 {
		fmt.Fprintln(out, i)
		if !lines.Scan() || lines.Text() != fmt.Sprint("heard ", i) {
			t.Fatalf("got %q (%v)", lines.Text(), lines.Err())
		}
	}
	out.Close()
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("after the end: %q %v", lines.Text(), lines.Err())
	}
}

func TestStreamsEndWithTheServerAndWithTheRemovalOfTheHost(t *testing.T) {
	pool := newPool(t)
	for name, end := range map[string]func(port *Port, cancel func()){
		"the server ends":     func(_ *Port, cancel func()) { cancel() },
		"the host is removed": func(port *Port, _ func()) { port.CloseHost("host-2") },
	} {
		t.Run(name, func(t *testing.T) {
			port := listen(t, pool.first)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begun, ended := make(chan struct{}), make(chan struct{})
			l := port.Peer()
			go Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				close(begun)
				<-r.Context().Done()
				close(ended)
			}), slog.New(slog.DiscardHandler))
			response, err := clientFor(t, &Dialer{Identity: pool.host("host-2")}).Get("https://" + port.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			<-begun
			end(port, cancel)
			<-ended
			_, _ = io.ReadAll(response.Body) // returns
		})
	}
}

// Both ends notice a link that is cut, also when nobody says anything.
func TestASilentEndIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t)
		network := newFakeNetwork()
		port := Listen(network, pool.first, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		served, lost := make(chan error), make(chan time.Time, 1)
		l := port.Peer()
		go func() {
			served <- Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				lost <- time.Now()
			}), slog.New(slog.DiscardHandler))
		}()
		client := (&Dialer{Identity: pool.host("host-2"), connect: network.connect}).HTTPClient()
		response, err := client.Get("https://a:1/peer/session")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // a quiet link is kept
		close(network.frozen)
		cut := time.Now()
		if _, err := io.ReadAll(response.Body); err == nil || time.Since(cut) > pingInterval+pingTimeout {
			t.Errorf("the caller noticed after %v (%v)", time.Since(cut), err)
		}
		if took := (<-lost).Sub(cut); took > 2*pingInterval+pingTimeout {
			t.Errorf("the other end noticed after %v", took)
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		client.CloseIdleConnections()
		port.Close()
	})
}
