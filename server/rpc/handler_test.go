package rpc

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A call that every host may make takes as much of a server's memory as such a call needs; those of servers may be long.
func TestACallThatEveryHostMayMakeIsBounded(t *testing.T) {
	heard := 0
	answer := func(_ context.Context, _ string, in struct{ Text string }) (struct{}, error) {
		heard += len(in.Text)
		return struct{}{}, nil
	}
	for _, k := range []struct {
		handle HandlerFunc
		bytes  int
		want   int
	}{
		{JSON(answer), maxHostCallBytes / 2, http.StatusOK}, {JSON(answer), maxHostCallBytes, http.StatusConflict},
		{ServerJSON(answer), maxHostCallBytes, http.StatusOK}, {ServerJSON(answer), maxCallBytes, http.StatusConflict},
	} {
		heard = 0
		w, body := httptest.NewRecorder(), fmt.Sprintf(`{"Text":%q}`, strings.Repeat("x", k.bytes))
		k.handle(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), "host")
		if w.Code != k.want || (heard == k.bytes) != (k.want == http.StatusOK) {
			t.Errorf("%d bytes: status %d, %d were heard", k.bytes, w.Code, heard)
		}
	}
}
