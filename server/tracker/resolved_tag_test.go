package tracker

import (
	"testing"
	"time"

	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
)

func TestWhatATagMeantLast(t *testing.T) {
	now := time.Unix(1000, 0)
	lab := &spec.Cluster{Name: "lab", Settings: []spec.Setting{{Name: spec.SettingTagsWithoutRegistry, Value: "enabled"}}}
	clusters := map[string]*spec.Cluster{"asks": lab, "old": lab, "new": lab, "imported": lab, "foreign": {Name: "other"}, "asks too": {Name: "other"}}
	tracker := New(Config{Connected: func() []string { return nil }, Kept: func(string) *blob.Images { return nil }, Address: func(string) string { return "" },
		Cluster: func(host string) *spec.Cluster { return clusters[host] }})
	tell := func(host string, images ...blob.Image) {
		tracker.AnswerHost(host, now, blob.Request{Images: &blob.Images{List: images}})
	}
	meant := func(host, tag string) blob.ResolvedTag {
		if found := tracker.AnswerHost(host, now, blob.Request{Tag: tag}).ResolvedTag; found != nil {
			return *found
		}
		return blob.ResolvedTag{}
	}
	tell("asks", blob.Image{Name: "a:1", Digest: "sha256:own", Resolved: 999})
	tell("old", blob.Image{Name: "a:1", Digest: "sha256:old", Resolved: 10}, blob.Image{Name: "b:1", Digest: "sha256:b", Resolved: 10})
	tell("new", blob.Image{Name: "a:1", Digest: "sha256:new", Resolved: 20})
	tell("imported", blob.Image{Name: "a:1", Digest: "sha256:imported"})
	tell("foreign", blob.Image{Name: "a:1", Digest: "sha256:foreign", Resolved: 30}, blob.Image{Name: "c:1", Digest: "sha256:c", Resolved: 30})
	for _, c := range []struct {
		host, tag string
		want      blob.ResolvedTag
	}{
		{"asks", "a:1", blob.ResolvedTag{Digest: "sha256:new", At: 20, Use: true}},
		{"asks", "b:1", blob.ResolvedTag{Digest: "sha256:b", At: 10, Use: true}},
		{"asks", "c:1", blob.ResolvedTag{}},                                     // of another cluster
		{"asks too", "a:1", blob.ResolvedTag{Digest: "sha256:foreign", At: 30}}, // whose setting is not enabled
		{"foreign", "c:1", blob.ResolvedTag{}},                                  // its own
		{"unknown", "a:1", blob.ResolvedTag{}},
		{"asks", "", blob.ResolvedTag{}},
	} {
		if got := meant(c.host, c.tag); got != c.want {
			t.Errorf("%s asks for %q: %+v, want %+v", c.host, c.tag, got, c.want)
		}
	}
	tell("old", blob.Image{Name: "a:1", Digest: "sha256:ahead", Resolved: 1 << 60})
	if got := meant("asks", "a:1"); got.At != now.Unix() {
		t.Errorf("the future counts: %+v", got)
	}
}
