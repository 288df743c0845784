package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/audit"
	"pinion/api/httpx"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
)

// audited has the fixture write its audit log; entries reads it.
func (b *fixture) audited(t testing.TB) (entries func() []audit.Line) {
	t.Helper()
	dir := t.TempDir()
	log, err := audit.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	b.config.Audit = log
	return func() (all []audit.Line) {
		damaged, err := audit.Read(dir, time.Time{}, func(e audit.Line) error { all = append(all, e); return nil })
		if damaged > 0 || err != nil {
			t.Fatal(damaged, err)
		}
		return all
	}
}

// What is refused leaves a line, whichever stage refuses it, and so does what an administrator reads or changes. What others do in the usual way
// leaves none.
func TestRefusalsAndAdministrationAreRecorded(t *testing.T) {
	b, _ := newAdminFixture(t)
	entries := b.audited(t)
	b.config.Trusted = false
	read := b.withKey(t, accesskey.Key{ID: "AKIAREAD", Name: "ci", Role: accesskey.RoleRead, Cluster: "default"})
	admin := b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	for _, c := range []struct {
		bearer, method, path, body string
		want                       string // outcome, principal, operation, error; empty: no line
	}{
		{"", "GET", "/v1/hosts", "", "refused  GET /v1/hosts MissingAuthenticationTokenException"},
		{"Bearer AKIAREAD:guess", "GET", "/v1/hosts", "", "refused  GET /v1/hosts UnrecognizedClientException"},
		{read, "POST", "/v1/RunTask", `{"taskDefinition":"f"}`, "refused AKIAREAD RunTask AccessDeniedException"},
		{read, "POST", "/v1/ListTasks", `{"cluster":"other"}`, "refused AKIAREAD ListTasks AccessDeniedException"},
		{read, "GET", "/v1/admin/snapshot", "", "refused AKIAREAD GET /v1/admin/snapshot AccessDeniedException"},
		{"Bearer AKIAREAD:guess", "POST", "/v1/MadeUp", `{}`, "refused  (unknown operation) UnrecognizedClientException"},
		{"", "POST", "/v1/login", `{"idToken":"made up"}`, "refused  POST /v1/login NotFoundException"},
		{read, "POST", "/v1/ListTasks", `{}`, ""},
		{admin, "POST", "/v1/ListTasks", `{}`, ""},
		{admin, "GET", "/v1/admin/keys", "", "done AKIAADMIN GET /v1/admin/keys "},
		{admin, "GET", "/v1/admin/snapshot", "", "done AKIAADMIN GET /v1/admin/snapshot "},
		{admin, "POST", "/v1/CreateCluster", `{"clusterName":"lab"}`, "done AKIAADMIN CreateCluster "},
		{admin, "POST", "/v1/admin/teams", `{"name":"vision"}`, "failed AKIAADMIN POST /v1/admin/teams InvalidParameterException"},
	} {
		before := len(entries())
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		if c.bearer != "" {
			r.Header.Set("Authorization", c.bearer)
		}
		got := b.serve(r)
		all := entries()[before:]
		if c.want == "" {
			if len(all) > 0 {
				t.Errorf("%s %s is recorded: %+v", c.method, c.path, all)
			}
			continue
		}
		if len(all) != 1 {
			t.Errorf("%s %s (%d) has %d lines", c.method, c.path, got.Code, len(all))
			continue
		}
		e := all[0]
		line := strings.Join([]string{string(e.Outcome), strings.TrimPrefix(e.Principal, iam.OwnerARN("")), e.Operation, e.Error}, " ")
		if named := strings.Contains(c.want, "AKIAREAD "); named != (e.KeyName == "ci") {
			t.Errorf("%s: the name of the key is %q", c.want, e.KeyName)
		}
		if line != c.want || e.RequestID != got.Header().Get("x-amzn-RequestId") || e.Address != r.RemoteAddr || e.Status != got.Code {
			t.Errorf("%s %s: %q, %+v", c.method, c.path, line, e)
		}
	}
}

// Neither a stranger nor a key that is no administrator's writes into the files of what administrators did, or more than a line and a count for
// what is wrong.
func TestOnlyAdministratorsWriteTheirAuditLog(t *testing.T) {
	b, _ := newAdminFixture(t)
	dir := t.TempDir()
	log, err := audit.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b.config.Audit, b.config.Trusted = log, false
	submit, admin := b.withKey(t, accesskey.Key{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit}), b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	long := `{"` + strings.Repeat("<", 500) + `":1}`
	for range 100 {
		b.rest("login", long)
		b.as(submit, restRequest("PutParameter", long))
	}
	b.as(admin, restRequest("CreateCluster", `{"clusterName":"lab"}`))
	b.as(admin, restRequest("PutParameter", long))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"audit.jsonl":   {"done CreateCluster 0", "failed ssm:PutParameter 0"},
		"users.jsonl":   {"failed ssm:PutParameter 0", "failed ssm:PutParameter 99"},
		"refused.jsonl": {"refused POST /v1/login 0", "refused POST /v1/login 99"},
	} {
		written, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for text := range strings.Lines(string(written)) {
			var e audit.Line
			if err := json.Unmarshal([]byte(text), &e); err != nil || len(text) > 1200 {
				t.Errorf("%d bytes, %v", len(text), err)
			}
			lines = append(lines, fmt.Sprintf("%s %s %d", e.Outcome, e.Operation, e.Repeats))
		}
		if !slices.Equal(lines, want) {
			t.Errorf("%s has %q", name, lines)
		}
	}
}

// Whatever is refused leaves a line, and so does all that only an administrator may do.
func TestEveryLineOfTheTablesIsRecorded(t *testing.T) {
	for line, needed := range requiredRoles() {
		method, path, _ := strings.Cut(line, " ")
		for role, recorded := range map[accesskey.Role]bool{"reader": needed != "", accesskey.RoleAdmin: needed == accesskey.RoleAdmin} {
			if !recorded {
				continue
			}
			b, _ := newAdminFixture(t)
			entries := b.audited(t)
			got := b.serveAs(t, role, "", httptest.NewRequest(method, path, strings.NewReader("{}")))
			all := entries()
			if len(all) != 1 || (all[0].Outcome == audit.Refused) != (role == "reader") || all[0].Time.IsZero() || all[0].Principal == "" || all[0].Status != got.Code {
				t.Errorf("%s by %s: %d, recorded as %+v", line, role, got.Code, all)
			}
		}
	}
}

// The leader decides on a forwarded request, and records whose it is; the host that forwards it does not record it again.
func TestAForwardedRequestIsRecordedWhereItIsDecided(t *testing.T) {
	p := newTwoHosts(t)
	here, there := p.other.audited(t), p.leader.audited(t)
	p.other.config.Trusted, p.other.config.Leader, p.other.config.Forward = false, remoteLeads(p.peer.Listener.Addr().String()), p.peer.Client().Transport
	r := restRequest("CreateCluster", `{"clusterName":"lab"}`)
	r.Header.Set("Authorization", bearerKey)
	r.RemoteAddr = "192.0.2.7:4711"
	if got := p.other.serve(r); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if all := here(); len(all) > 0 {
		t.Errorf("the host that forwards it records %+v", all)
	}
	if all := there(); len(all) != 1 || all[0].Address != "192.0.2.7:4711" || all[0].Via == "" {
		t.Errorf("the leader records %+v", all)
	}
}

// A client cannot say that it is another.
func TestAClientsAddressIsNotItsWord(t *testing.T) {
	b := newFixture(t)
	entries := b.audited(t)
	b.config.Trusted = false
	r := httptest.NewRequest("GET", "/v1/hosts", nil)
	r.Header.Set("X-Pinion-Client", "10.0.0.1:1")
	r.Header.Set("X-Pinion-Forwarded", "somebody")
	b.serve(r)
	if all := entries(); len(all) != 1 || all[0].Address != r.RemoteAddr || all[0].Via != "" {
		t.Errorf("%+v", all)
	}
}

// Nor can a host that forwards its request write what it likes into the record.
func TestOnlyAnAddressIsRecordedAsAClients(t *testing.T) {
	b := newFixture(t)
	entries := b.audited(t)
	b.config.Trusted, b.config.FromPeer = false, func(*http.Request) httpx.Peer { return httpx.Peer{HostID: "somebody"} }
	for said, want := range map[string]string{
		"192.0.2.7:4711": "192.0.2.7:4711", "[2001:db8::1]:80": "[2001:db8::1]:80", "socket": "socket",
		strings.Repeat("A", 50_000): "", "192.0.2.7": "", "[fe80::1%" + strings.Repeat("z", 5000) + "]:80": "",
	} {
		before := len(entries())
		r := httptest.NewRequest("GET", "/v1/admin/keys", nil)
		r.Header.Set(httpx.HeaderClient, said)
		r.Header.Set(httpx.HeaderForwarded, "somebody")
		r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", before) // what comes again from one address is counted
		b.serve(r)
		if all := entries()[before:]; len(all) != 1 || all[0].Address != cmp.Or(want, r.RemoteAddr) {
			t.Errorf("%.40s: %d lines", said, len(all))
		}
	}
}
