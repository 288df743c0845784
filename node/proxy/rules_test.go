package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"pinion/raftfsm/traffic"
)

func condition(field traffic.ConditionField, values ...string) traffic.Condition {
	return traffic.Condition{Field: field, Values: values}
}

func header(name string, values ...string) traffic.Condition {
	return traffic.Condition{Field: traffic.HTTPHeader, Header: name, Values: values}
}

func query(pairs ...traffic.QueryPair) traffic.Condition {
	return traffic.Condition{Field: traffic.QueryString, Query: pairs}
}

func TestConditions(t *testing.T) {
	cases := []struct {
		name      string
		condition traffic.Condition
		holds     []string // "METHOD host path NAME:value"
		fails     []string
	}{
		{"host", condition(traffic.HostHeader, "Example.test", "*.b.test"), []string{"GET example.TEST:80 /", "GET example.test. /", "GET example.test.:80 /", "GET a.b.test /", "GET x.a.b.test /"},
			[]string{"GET b.test /", "GET example.test.evil /", "GET example.test.. /"}},
		{"path", condition(traffic.PathPattern, "/img/*", "/v?/x"), []string{"GET a /img/", "GET a /img/a/b?q=1", "GET a /v1/x"},
			[]string{"GET a /img", "GET a /IMG/a", "GET a /v11/x", "GET a /x?/img/", "GET a /%69mg/a"}},
		{"header", header("user-agent", "*Chrome*"), []string{"GET a / User-Agent:xchromex"}, []string{"GET a /", "GET a / User-Agent:x"}},
		{"method", condition(traffic.RequestMethod, "GET", "PURGE"), []string{"GET a /", "PURGE a /"}, []string{"POST a /"}},
		{"query", query(traffic.QueryPair{Key: "v*", Value: "1"}, traffic.QueryPair{Value: "any?"}),
			[]string{"GET a /?version=1", "GET a /?V=1&x", "GET a /?x=anyY"}, []string{"GET a /", "GET a /?version=2", "GET a /?x=any"}},
		{"source", condition(traffic.SourceIP, "10.0.0.0/8", "127.0.0.0/8"), []string{"GET a /"}, nil},
		{"another source", condition(traffic.SourceIP, "10.0.0.0/8", "::1/128"), nil, []string{"GET a / X-Forwarded-For:10.0.0.1"}},
		{"many stars", condition(traffic.PathPattern, strings.Repeat("*a", 60)+"b"), nil, []string{"GET a /" + strings.Repeat("a", 120)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			chosen := forward("chosen")
			chosen.Conditions = []traffic.Condition{c.condition}
			s.apply(traffic.Routing{Listeners: []traffic.Listener{listener(80, traffic.HTTP, chosen, forward("other"))},
				Groups: []traffic.Group{group("chosen", s.named("chosen")), group("other", s.named("other"))}})
			for want, requests := range map[string][]string{"chosen": c.holds, "other": c.fails} {
				for _, request := range requests {
					if got := s.ask(request); got != want {
						t.Errorf("%s goes to %s", request, got)
					}
				}
			}
		})
	}
}

// ask sends "METHOD host path NAME:value" and returns the body of the answer.
func (s *site) ask(request string) string {
	s.Helper()
	words := append(strings.Fields(request), "X:y")
	r, err := http.NewRequest(words[0], "http://"+s.address(80)+words[2], nil)
	if err != nil {
		s.Fatal(err)
	}
	name, value, _ := strings.Cut(words[3], ":")
	r.Host = words[1]
	r.Header.Set(name, value)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	return read(s.T, answer.Body)
}

func TestAllConditionsOfARuleMustHoldAndTheFirstRuleCounts(t *testing.T) {
	both, path := forward("both"), forward("path")
	both.Conditions = []traffic.Condition{condition(traffic.PathPattern, "/a*"), condition(traffic.HostHeader, "h")}
	path.Conditions = []traffic.Condition{condition(traffic.PathPattern, "/a*")}
	s := newSite(t)
	s.apply(traffic.Routing{Listeners: []traffic.Listener{listener(80, traffic.HTTP, both, path, forward("rest"))},
		Groups: []traffic.Group{group("both", s.named("both")), group("path", s.named("path")), group("rest", s.named("rest"))}})
	for request, want := range map[string]string{"GET h /ab": "both", "GET x /ab": "path", "GET h /b": "rest"} {
		if got := s.ask(request); got != want {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
}

func TestRedirects(t *testing.T) {
	cases := []struct {
		to         traffic.Redirect
		path, want string
	}{
		{traffic.Redirect{Protocol: "HTTPS", Port: "443", StatusCode: 301}, "/a%20b?c=d&e", "https://h.test:443/a%20b?c=d&e"},
		{traffic.Redirect{Host: "new.#{host}", Path: "/v2/#{path}", Query: "from=#{port}", StatusCode: 302}, "/x", "http://new.h.test:80/v2/x?from=80"},
		{traffic.Redirect{Protocol: "#{protocol}", Host: "#{host}", Port: "#{port}", Path: "/#{path}", Query: "#{query}", StatusCode: 301}, "/", "http://h.test:80/"},
		{traffic.Redirect{Protocol: "HTTPS", StatusCode: 301}, "//evil.test/%0d%0aX:y", "https://h.test:80//evil.test/%0d%0aX:y"},
	}
	for _, c := range cases {
		s := newSite(t)
		s.apply(traffic.Routing{Listeners: []traffic.Listener{listener(80, traffic.HTTP, traffic.Rule{Action: traffic.Action{Redirect: &c.to}})}})
		r, _ := http.NewRequest(http.MethodGet, "http://"+s.address(80)+c.path, nil)
		r.Host = "h.test"
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := answer.Header.Get("Location"); answer.StatusCode != c.to.StatusCode || got != c.want {
			t.Errorf("%d %s, want %d %s", answer.StatusCode, got, c.to.StatusCode, c.want)
		}
	}
}

func TestAFixedResponse(t *testing.T) {
	fixed := traffic.FixedResponse{StatusCode: http.StatusTeapot, ContentType: "application/json", Body: `{"short":"stout"}`}
	s := newSite(t)
	s.apply(traffic.Routing{Listeners: []traffic.Listener{listener(80, traffic.HTTP, traffic.Rule{Action: traffic.Action{FixedResponse: &fixed}})}})
	answer, err := http.Post("http://"+s.address(80), "text/plain", io.LimitReader(strings.NewReader("ignored"), 7))
	if err != nil {
		t.Fatal(err)
	}
	if body := read(t, answer.Body); answer.StatusCode != fixed.StatusCode || body != fixed.Body || answer.Header.Get("Content-Type") != fixed.ContentType {
		t.Error(answer.StatusCode, body, answer.Header)
	}
}
