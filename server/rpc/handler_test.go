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

// JSON of 60 KiB stands for megabytes when it has nothing but empty elements. It is refused as text.
func TestARequestThatIsLargeOnlyDecodedIsRefused(t *testing.T) {
	heard := 0
	answer := func(_ context.Context, _ string, in struct{ List []struct{ Text [8]string } }) (struct{}, error) {
		heard += len(in.List)
		return struct{}{}, nil
	}
	few := LeaderCall[struct{ List []struct{ Text [8]string } }, struct{}]{Answer: answer, MaxBytes: 1 << 20, MaxElements: 100}.Handler()
	for _, k := range []struct {
		handle   HandlerFunc
		elements int
		want     int
	}{
		{JSON(answer), maxHostCallElements/2 - 1, http.StatusOK}, {JSON(answer), maxHostCallElements/2 + 1, http.StatusConflict}, {JSON(answer), 20_000, http.StatusConflict},
		{few, 49, http.StatusOK}, {few, 51, http.StatusConflict}, {few, 300_000, http.StatusConflict},
		{ServerJSON(answer), 20_000, http.StatusOK},
	} {
		heard = 0
		w, body := httptest.NewRecorder(), `{"List":[{}`+strings.Repeat(",{}", k.elements-1)+`]}`
		k.handle(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), "host")
		if w.Code != k.want || (heard == k.elements) != (k.want == http.StatusOK) {
			t.Errorf("%d elements: status %d %s, %d were heard", k.elements, w.Code, w.Body, heard)
		}
	}
}
