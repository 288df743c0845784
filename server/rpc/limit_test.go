package rpc

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// Neither one caller nor all of them together have more calls read at once than a host has memory for, and each place is given back.
func TestCallsThatAreReadAtOnceAreBounded(t *testing.T) {
	var l Limit
	hold := func(caller string) bool {
		w, heard := httptest.NewRecorder(), false
		l.Handle(w, caller, func() { heard = l.take(caller) }) // a call within the call is one more
		if !heard && !strings.Contains(w.Body.String(), `"unavailable"`) && w.Body.Len() > 0 {
			t.Fatalf("refused with %s", w.Body)
		}
		return heard
	}
	held := 0
	for hold("one") {
		held++
	}
	if held != maxCallsPerCaller-1 || !hold("other") {
		t.Errorf("one caller has %d calls, and another is refused", held)
	}
	l.release("other")
	for range held {
		l.release("one")
	}
	for n := 0; l.take(fmt.Sprint(n / maxCallsPerCaller)); n++ {
		if n > maxCalls {
			t.Fatal("there is no bound of all")
		}
	}
	if len(l.byCaller) != maxCalls/maxCallsPerCaller || hold("one more") {
		t.Errorf("%d callers, and one more is heard", len(l.byCaller))
	}
}
