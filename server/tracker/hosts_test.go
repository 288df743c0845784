package tracker

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/blob"
)

func TestImagesThatHostsHave(t *testing.T) {
	at := time.Unix(0, 0)
	tracker := New(Config{Connected: func() []string { return nil }, Kept: func(host string) *blob.Images { return &blob.Images{List: []blob.Image{{Name: "for " + host}}} }, Address: func(string) string { return "" }})
	one, other := blob.Image{Name: "a:1", Digest: "sha256:1", Size: 5}, blob.Image{Name: "a:1", Digest: "sha256:2"}
	tracker.AnswerHost("h2", at, blob.Request{Images: &blob.Images{List: []blob.Image{one, {Name: "", Digest: "no name"}, {Name: strings.Repeat("x", 1000)}, {Name: "b", Size: -1}}}})
	tracker.AnswerHost("h1", at, blob.Request{Images: &blob.Images{List: []blob.Image{one, one}}})
	tracker.AnswerHost("h3", at, blob.Request{Images: &blob.Images{List: []blob.Image{other}}})
	want := []blob.HeldImage{{Image: one, Hosts: []string{"h1", "h2"}}, {Image: other, Hosts: []string{"h3"}}}
	if got := tracker.Images(at); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if answer := tracker.AnswerHost("h3", at, blob.Request{}); answer.Kept == nil || answer.Kept.List[0].Name != "for h3" {
		t.Errorf("%+v", answer.Kept)
	}
	if answer := tracker.AnswerHost("h3", at, blob.Request{Wants: []blob.Want{{Digest: "sha256:9", Size: 1}}}); answer.Kept != nil {
		t.Error("a host in the middle of a pull is told what it keeps")
	}
	tracker.AnswerHost("h1", at.Add(time.Hour), blob.Request{Images: &blob.Images{}})
	if got := tracker.Images(at.Add(time.Hour)); len(got) != 0 {
		t.Errorf("%+v: of hosts that are silent", got)
	}
}

func TestANewTrackerWaitsForItsHosts(t *testing.T) {
	at := time.Unix(100, 0)
	fresh := func() *Tracker {
		return New(Config{Connected: func() []string { return []string{"h1", "h2"} }, Kept: func(string) *blob.Images { return nil }, Address: func(string) string { return "" }})
	}
	tracker := fresh()
	if !tracker.AnswerHost("h1", at, blob.Request{Full: true}).Settling {
		t.Error("settled before the second host has told what it has")
	}
	if tracker.AnswerHost("h2", at, blob.Request{Full: true}).Settling {
		t.Error("not settled though all hosts have told")
	}
	tracker = fresh()
	tracker.AnswerHost("h1", at, blob.Request{Full: true})
	if tracker.AnswerHost("h1", at.Add(settleTime), blob.Request{}).Settling {
		t.Error("a host that says nothing holds the others up for ever")
	}
}

// A host that names a wrong size of a blob keeps others from none that have it.
func TestALieAboutASizeHidesNoHost(t *testing.T) {
	at := time.Unix(0, 0)
	tracker := New(Config{Connected: func() []string { return nil }, Kept: func(string) *blob.Images { return nil }, Address: func(id string) string { return id + ":7400" }})
	tracker.AnswerHost("has", at, blob.Request{Full: true, Held: []string{"sha256:1"}})
	tracker.AnswerHost("lies", at, blob.Request{Wants: []blob.Want{{Digest: "sha256:1", Size: 5}}})
	grants := tracker.AnswerHost("asks", at, blob.Request{Wants: []blob.Want{{Digest: "sha256:1", Size: 9}}}).Grants
	if len(grants) != 1 || len(grants[0].Peers) != 1 || grants[0].Peers[0].Host != "has" {
		t.Errorf("%+v", grants)
	}
}

// What a host names stays in the leader's memory, so it is no longer than digests are.
func TestAHostNamesNothingThatIsNoDigest(t *testing.T) {
	at := time.Unix(0, 0)
	tracker := New(Config{Connected: func() []string { return nil }, Kept: func(string) *blob.Images { return nil }, Address: func(id string) string { return id + ":7400" }})
	long := strings.Repeat("x", 1<<20)
	tracker.AnswerHost("lies", at, blob.Request{Full: true, Held: []string{long, ""}, Wants: []blob.Want{{Digest: long, Size: 5}}})
	grants := tracker.AnswerHost("asks", at, blob.Request{Wants: []blob.Want{{Digest: long}, {Digest: long, Size: 5}}}).Grants
	if len(grants[0].Peers)+len(grants[1].Peers) > 0 || grants[1].Coming {
		t.Errorf("%.200v", grants)
	}
}
