package proxy

import (
	"net/http"
	"net/url"
	"testing"

	"pinion/raftfsm/traffic"
)

// A query string of thousands of parts is taken apart once for all rules, and a part that is there again is looked at once.
func TestAQueryIsReadOnceForAllRules(t *testing.T) {
	r := &asked{Request: &http.Request{URL: &url.URL{RawQuery: "A=1&b=2&a=1&b=2"}}}
	if got := r.query(); len(got) != 2 || got[0] != (traffic.QueryPair{Key: "a", Value: "1"}) {
		t.Errorf("%v", got)
	}
	holds := queryCondition([]traffic.QueryPair{{Key: "B", Value: "2"}})
	if r.URL.RawQuery = "b=3"; !holds(r) {
		t.Error("it is read again")
	}
}

// A value of test traffic is no pattern, and its case counts.
func TestAnExactHeaderIsNoPattern(t *testing.T) {
	holds, err := newCondition(traffic.Condition{Field: traffic.ExactHeader, Header: "x-test", Values: []string{"New*"}})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{"New*": true, "new*": false, "Newer": false, "": false} {
		if got := holds(&asked{Request: &http.Request{Header: http.Header{"X-Test": {value}}}}); got != want {
			t.Errorf("%q holds: %t", value, got)
		}
	}
}
