package metadata

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// servedOverPipes is an endpoint with so many connections at most, which new ones come to over pipes. Requests of the container "slow" are answered when
// release is closed.
func servedOverPipes(t *testing.T, most int) (connect func() net.Conn, release chan struct{}) {
	e := &endpoint{unknown: newLimiter(), containers: map[string]*container{}}
	for _, id := range []string{"slow", "quick"} {
		e.add(&container{id: id, requests: rate.NewLimiter(rate.Inf, 1)})
	}
	release = make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v4/{id}", e.of(func(c *container, w http.ResponseWriter, _ *http.Request) {
		if c.id == "slow" {
			<-release
		}
		w.WriteHeader(http.StatusOK)
	}))
	l := oneConnection{make(chan net.Conn, 1000)}
	server := &http.Server{ReadTimeout: ioTimeout, IdleTimeout: maxIdle, Handler: mux, ConnContext: withClient}
	go server.Serve(newClients(l, most))
	t.Cleanup(func() { close(l.connections); server.Close(); synctest.Wait() })
	return func() net.Conn {
		client, connection := net.Pipe()
		t.Cleanup(func() { client.Close() })
		l.connections <- connection
		return client
	}, release
}

func ask(t *testing.T, c net.Conn, id string) {
	t.Helper()
	if _, err := io.WriteString(c, "GET /v4/"+id+" HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Errorf("the request of %s: %v", id, err)
	}
}

func wantStatus(t *testing.T, c net.Conn, want int) {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || answer.StatusCode != want {
		t.Errorf("%v, %v instead of %d", answer, err, want)
	}
}

// Containers on the network of their host share the connections of its endpoint. One that opens all of them and says nothing, again and again, delays the
// others by moments, and cuts off no request that is being answered.
func TestOneContainerKeepsNoOtherFromTheEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 8
		connect, release := servedOverPipes(t, most)
		slow := connect()
		ask(t, slow, "slow")
		synctest.Wait()
		for range 10 * most {
			connect()
		}
		began := time.Now()
		quick := connect()
		ask(t, quick, "quick")
		wantStatus(t, quick, http.StatusOK)
		if took := time.Since(began); took > 20*grace {
			t.Errorf("it was answered after %v", took)
		}
		for range most {
			connect()
		}
		time.Sleep(10 * grace)
		close(release)
		wantStatus(t, slow, http.StatusOK)
	})
}

// One container has so many requests at once, whatever number of connections it has.
func TestOneContainerHasSoManyRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect, release := servedOverPipes(t, 4*maxAtOnce)
		var slow []net.Conn
		for range maxAtOnce {
			slow = append(slow, connect())
			ask(t, slow[len(slow)-1], "slow")
		}
		synctest.Wait()
		for id, want := range map[string]int{"slow": http.StatusTooManyRequests, "quick": http.StatusOK} {
			c := connect()
			ask(t, c, id)
			wantStatus(t, c, want)
		}
		close(release)
		for _, c := range slow {
			wantStatus(t, c, http.StatusOK)
		}
	})
}
