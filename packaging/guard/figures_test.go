package guard

import (
	"bytes"
	"go/ast"
	"go/printer"
	"go/token"
	"strings"
	"testing"
)

// figures are the numbers that docs/security.md promises, each with the declarations that they are in the code: tests of limits set
// smaller ones.
var figures = []struct {
	said   string
	inCode map[string]string // by package and name
}{
	{"within the last 10 minutes; clocks may differ by a minute", map[string]string{"api/openid.MaxAge": "10 * time.Minute", "api/openid.Skew": "time.Minute"}},
	{"is believed for an hour at most", map[string]string{"api/openid.discoveryTTL": "time.Hour"}},
	{"A person has 5 at most", map[string]string{"raftfsm/issuer.MaxKeysOfPerson": "5"}},
	{"read 128 KiB at most, wait 10 s at most", map[string]string{"api/openid.maxAnswer": "128 << 10", "api/openid.timeout": "10 * time.Second"}},
	{"concerns those who log in, 16 at once,", map[string]string{"api/openid.maxVerifying": "16"}},
	{"no more than 16 from one address and 256 in all are remembered, each for a minute at least", map[string]string{
		"api/openid.maxDevicesPerAddress": "16", "api/openid.maxDevices": "256", "api/openid.leastRemembered": "time.Minute"}},
	{"at its own pace, by 16 requests at once", map[string]string{"api/openid.maxAsking": "16"}},
	{"ten refusals in a minute", map[string]string{"server/admission.maxRefusals": "10", "server/admission.refusalWindow": "time.Minute"}},
	{"at most 2,048 connections", map[string]string{"server/peer.maxClientsPerAddress": "2 << 10"}},
	{"16 of the 64 slots for large bodies", map[string]string{"api/httpx.maxLargeBodies": "64", "api/httpx.maxLargeBodiesPerAddress": "16"}},
	{"Of 16,384 open requests a host leaves 64 to root's socket, and an address has 2,048 at most", map[string]string{"api/httpx.maxOpen": "16 << 10", "api/httpx.openForRoot": "64", "api/httpx.maxOpenPerAddress": "2 << 10"}},
	{"Of 8,192 streams one owner of keys has half at most, and of the 1,024 that one address may open likewise; of the 1,000 of events", map[string]string{
		"api/httpx.maxStreams": "8 << 10", "api/httpx.maxStreamsPerAddress": "1 << 10", "api/events.maxStreams": "1000"}},
	{"1,000,000 live tasks, 500,000 waiting, 10,000 revisions a family", map[string]string{
		"raftfsm/spec.DefaultPoolLimits": "PoolLimits{Tasks: 1_000_000, Waiting: 500_000, Revisions: 100_000, RevisionsOfFamily: 10_000}"}},
	{"hold 512 MiB of a host at most, 128 MiB for one address", map[string]string{"api/httpx.maxAnswers": "512 << 20", "api/httpx.maxAnswersPerAddress": "128 << 20"}},
	{"put together 16 at once, at most half of what is free for one owner of keys, and pages of the history have 2 MiB", map[string]string{"api/httpx.maxLists": "16", "raftfsm/ended.MaxPageBytes": "2 << 20"}},
	{"A page of tasks is made by a look at 5,000 of them at most", map[string]string{"api/ecs/paging.MaxVisited": "5_000", "api/rest.maxVisitedTasks": "5_000"}},
	{"64 at once for one host. One that", map[string]string{"api/httpx.maxAwaitingPerHost": "64"}},
	{"that are worked on, 1,024, an address", map[string]string{"api/httpx.maxInFlight": "1024"}},
	{"8 are searched at once, with a pattern, until a moment or for a tail, 4 for one owner of keys", map[string]string{"api/rest.maxSearches": "8", "api/rest.maxSearchesPerOwner": "4"}},
	{"a server takes 8 MiB in 50,000 lines, and asks it once in a second", map[string]string{
		"api/metrics.maxHostBytes": "8 << 20", "api/metrics.maxHostLines": "50_000", "api/metrics.answerFresh": "time.Second"}},
	{"ends its streams within a second", map[string]string{"api.keyCheckInterval": "500 * time.Millisecond"}},
	{"one of its 64 places for those who read logs by the API of CloudWatch Logs for over a minute; one address has 16", map[string]string{
		"api/cloudwatchlogs.maxReads": "64", "api/cloudwatchlogs.maxRead": "time.Minute", "api/cloudwatchlogs.maxReadsPerAddress": "16"}},
	{"a task has 4 of its own at most, and the tasks of a host 16", map[string]string{"api/cloudwatchlogs.maxReadsPerTask": "4"}},
	{"share the 512 connections of its endpoint. One has 32 requests answered at once", map[string]string{"node/metadata.maxAtOnce": "32", "node/metadata.maxClientsOnHost": "512"}},
	{"are served for 31 days", map[string]string{"server/pki.crossLifetime": "hostCertLifetime + 24*time.Hour", "server/pki.hostCertLifetime": "30 * 24 * time.Hour"}},
	{"until they expire, 24 h at most", map[string]string{"raftfsm/issuer.MaxLifetime": "24 * time.Hour"}},
	{"(`--uses 1 --ttl 1h` unless said otherwise)", map[string]string{"server/admission.defaultUses": "1", "server/admission.defaultTTL": "time.Hour"}},
	{"in the last 5 s before a crash", map[string]string{"server/consensus.watermarkInterval": "5 * time.Second"}},
}

// TestTheFiguresOfThePromisesAreThoseOfTheCode compares what docs/security.md says with what is declared.
func TestTheFiguresOfThePromisesAreThoseOfTheCode(t *testing.T) {
	page, values := strings.Join(strings.Fields(readPage(t, "security.md")), " "), declaredValues(t)
	for _, figure := range figures {
		if !strings.Contains(page, figure.said) {
			t.Errorf("docs/security.md does not say any more: %s", figure.said)
		}
		for name, want := range figure.inCode {
			if values[name] != want {
				t.Errorf("docs/security.md says %q, for which %s is %q: it is %q", figure.said, name, want, values[name])
			}
		}
	}
}

// declaredValues are the values of constants and variables of the project as they are written, by package and name.
func declaredValues(t *testing.T) map[string]string {
	values := map[string]string{}
	eachFile(t, func(f file) {
		for _, d := range f.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || f.isTest() || group.Tok != token.CONST && group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				value := spec.(*ast.ValueSpec)
				for i := range min(len(value.Names), len(value.Values)) {
					var text bytes.Buffer
					if err := printer.Fprint(&text, f.set, value.Values[i]); err != nil {
						t.Fatal(err)
					}
					values[f.pkg+"."+value.Names[i].Name] = text.String()
				}
			}
		}
	})
	return values
}
