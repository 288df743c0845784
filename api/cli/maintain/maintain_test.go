package maintain

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// A host whose tasks do not end goes on draining when the command gives up, and the error says how it is made schedulable again.
func TestMaintainGivesUpAfterItsTimeout(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "pinion.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var set []string
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `[{"hostId":"h1","uuid":"GPU-1","task":"t1"}]`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		set = append(set, string(body))
		_, _ = io.WriteString(w, `{}`)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	clock, begin := time.Unix(0, 0), time.Unix(0, 0)
	inv := &invocation.Invocation{Out: io.Discard, Err: io.Discard, Now: func() time.Time { return clock }, Sleep: func(context.Context, time.Duration) error {
		clock = clock.Add(time.Minute)
		return nil
	}}
	if inv.Client, err = client.New(client.Config{Socket: socket}); err != nil {
		t.Fatal(err)
	}
	err = free(t.Context(), inv, client.Host{ID: "h1", Name: "gpu-1", Cluster: "lab"}, drain{timeout: 10 * time.Minute})
	if err == nil || !strings.Contains(err.Error(), "pinion activate gpu-1") || clock.Sub(begin) != 10*time.Minute || len(set) != 1 || !strings.Contains(set[0], client.Draining) {
		t.Errorf("after %s: %v, set %q", clock.Sub(begin), err, set)
	}
}
