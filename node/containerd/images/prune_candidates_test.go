package images

import (
	"slices"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func stored(name, content string, created time.Time, used string) images.Image {
	i := images.Image{Name: name, Target: ocispec.Descriptor{Digest: digest.FromString(content)}, CreatedAt: created}
	if used != "" {
		i.Labels = map[string]string{labelUsed: used}
	}
	return i
}

func TestWhichImagesMayGoAndInWhichOrder(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	groups := groupByDigest([]images.Image{
		stored("docker.io/library/a:1", "a", noon, ""),
		stored("docker.io/library/a@sha256:aa", "a", noon.Add(time.Second), ""),
		stored("docker.io/library/old:1", "old", noon.Add(-time.Hour), ""),
		stored("docker.io/library/busy:1", "busy", noon.Add(-2*time.Hour), ""),
		stored("docker.io/library/assigned:1", "assigned", noon.Add(-2*time.Hour), ""),
		stored("docker.io/library/recent:1", "recent", noon.Add(-2*time.Hour), ""),
		stored("docker.io/library/used:1", "used", noon.Add(-9*time.Hour), noon.Add(time.Hour).Format(time.RFC3339)),
	})
	inUse := map[string]bool{digest.FromString("busy").String(): true}
	recent := map[string]bool{digest.FromString("recent").String(): true}
	var got []string
	for _, group := range candidates(groups, inUse, normalised([]string{"assigned:1", "No Name"}), recent) {
		got = append(got, group.names...)
	}
	want := []string{"docker.io/library/old:1", "docker.io/library/a:1", "docker.io/library/a@sha256:aa", "docker.io/library/used:1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestUsesAreBoundedToTheImagesThatAreHere(t *testing.T) {
	u := newUses()
	u.touch("sha256:here")
	u.touch("sha256:gone")
	u.last["sha256:gone"] = time.Now().Add(-time.Hour)
	u.retain([]*imageGroup{{digest: "sha256:here"}})
	if len(u.last) != 1 || len(u.dirty) != 1 || !u.usedSince("sha256:here", time.Now().Add(-time.Minute)) {
		t.Errorf("kept are %v, %v", u.last, u.dirty)
	}
	if all := u.unrecorded(); len(all) != 1 || len(u.unrecorded()) != 0 {
		t.Errorf("unrecorded are %v", all)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	c := &cache{byDigest: map[string]*Unpacked{}}
	for i := range 2 * maxCached {
		c.put(digest.FromString(string(rune(i))).String(), &Unpacked{})
	}
	if len(c.byDigest) != maxCached {
		t.Errorf("it holds %d images, want %d", len(c.byDigest), maxCached)
	}
}
