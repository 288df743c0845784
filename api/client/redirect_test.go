package client

import (
	"net/http"
	"testing"
)

// Whoever answers cannot have the client ask another host, or the same one for something else.
func TestNoAnswerSendsARequestElsewhere(t *testing.T) {
	asked := 0
	config := serveHost(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "/v1/admin/keys", http.StatusTemporaryRedirect)
	})
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hosts(t.Context()); err == nil || asked != 1 {
		t.Errorf("it asks %d times: %v", asked, err)
	}
}
