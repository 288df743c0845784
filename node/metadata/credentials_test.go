package metadata

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// asked is what the container of a task with a role is answered.
func asked(c *container) (int, map[string]any) {
	w := httptest.NewRecorder()
	c.credentials(w, httptest.NewRequest("GET", "/v2/credentials/"+c.id, nil))
	var document map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &document) // then it has no members
	return w.Code, document
}

func TestAContainerHasTheAccessKeyOfItsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, failing := 0, false
		s := New(Config{Log: slog.New(slog.DiscardHandler), Credentials: func(_ context.Context, task string) (Credentials, error) {
			if calls++; failing {
				return Credentials{}, errors.New("a secret reason")
			}
			return Credentials{RoleARN: "arn", AccessKeyID: "ASIA" + task, SecretAccessKey: "s", Token: "t", Expiration: time.Now().Add(time.Hour)}, nil
		}})
		c := &container{id: "id", service: s, taskID: "task", role: "trainer"}
		for range 100 {
			status, got := asked(c)
			if status != http.StatusOK || got["RoleArn"] != "arn" || got["AccessKeyId"] != "ASIAtask" || got["SecretAccessKey"] != "s" || got["Token"] != "t" {
				t.Fatalf("%d %v", status, got)
			}
			if _, err := time.Parse(time.RFC3339, got["Expiration"].(string)); err != nil {
				t.Fatal(err)
			}
		}
		if calls != 1 {
			t.Errorf("the leader is asked %d times at one moment", calls)
		}
		time.Sleep(keptCredentials)
		if asked(c); calls != 2 {
			t.Errorf("after a minute it was asked %d times", calls)
		}
		failing = true
		time.Sleep(keptCredentials)
		if status, got := asked(c); status != http.StatusInternalServerError || got["code"] == nil || strings.Contains(got["message"].(string), "secret reason") {
			t.Errorf("while the pool does not answer: %d %v", status, got)
		}
	})
	if status, got := asked(&container{id: "id"}); status != http.StatusNotFound {
		t.Errorf("a task without a role: %d %v", status, got)
	}
}

// What comes without credentials gets no further than the endpoint; what has some is the API's to judge, as from the container.
func TestOnlyRequestsWithCredentialsReachTheAPI(t *testing.T) {
	s := New(Config{Log: slog.New(slog.DiscardHandler)})
	reached := ""
	ask := func(authorization string) int {
		r, w := httptest.NewRequest("POST", "/", nil), httptest.NewRecorder()
		r.Header.Set("Authorization", authorization)
		s.serveAPI(w, r, "10.9.0.2", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
		return w.Code
	}
	if status := ask("AWS4-HMAC-SHA256 x"); status != http.StatusNotFound {
		t.Errorf("before there is an API: %d", status)
	}
	s.HandleAPI(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached = r.RemoteAddr }))
	if status := ask(""); status != http.StatusNotFound || reached != "" {
		t.Errorf("without credentials: %d", status)
	}
	if status := ask("AWS4-HMAC-SHA256 x"); status != http.StatusOK || !strings.HasPrefix(reached, "10.9.0.2:") {
		t.Errorf("%d from %s", status, reached)
	}
}
