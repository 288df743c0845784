package image_test

import (
	"fmt"
	"slices"
	"testing"

	"pinion/raftfsm/image"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/spec"
)

const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000001"

func imported(name string) image.Image {
	return image.Image{Name: name, Digest: digest, Imported: true, Copies: image.DefaultCopies}
}

func TestAPoolKeepsImagesByName(t *testing.T) {
	s := raftfsmtest.New(t)
	raftfsmtest.Refuse(s, image.Delete{Name: "docker.io/library/a:1"}, spec.ErrNotFound)
	raftfsmtest.Change(s, image.Put{Image: imported("docker.io/library/a:1")})
	again := imported("docker.io/library/a:1")
	again.Digest = "sha256:2"
	raftfsmtest.Change(s, image.Put{Image: again})
	if got := image.All(s.View()); len(got) != 1 || got[0].Digest != "sha256:2" {
		t.Errorf("%+v", got)
	}
	for i := range image.Max - 1 {
		raftfsmtest.Change(s, image.Put{Image: imported(fmt.Sprint("i", i))})
	}
	raftfsmtest.Refuse(s, image.Put{Image: imported("one-more")}, spec.ErrLimit)
	raftfsmtest.Change(s, image.Put{Image: imported("i0")}) // which is none more
	raftfsmtest.Change(s, image.Delete{Name: "i0"})
	if image.Find(s.View(), "i0") != nil {
		t.Error("an image that was deleted is kept")
	}
}

func TestTasksGetTheDigestsOfImportedImages(t *testing.T) {
	s := raftfsmtest.New(t)
	pinned := imported("docker.io/library/pinned:1")
	pinned.Imported = false
	raftfsmtest.Change(s, image.Put{Image: imported("docker.io/library/a:1")})
	raftfsmtest.Change(s, image.Put{Image: pinned})
	definition := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{
		{Name: "imported", Image: "a:1"}, {Name: "pinned", Image: "pinned:1"}, {Name: "other", Image: "a:2"},
		{Name: "each start", Image: "a:1", VersionConsistency: spec.VersionConsistencyDisabled}, {Name: "known", Image: "a:1"},
	}}
	task := &spec.Task{Containers: []spec.Container{{Name: "imported"}, {Name: "pinned"}, {Name: "other"}, {Name: "each start"}, {Name: "known", ImageDigest: "sha256:before"}}}
	got := image.Resolve(s.View(), task, definition)
	for name, want := range map[string]string{"imported": digest, "pinned": "", "other": "", "each start": "", "known": "sha256:before"} {
		if is := got.ImageDigest(name); is != want {
			t.Errorf("container %q has %q, not %q", name, is, want)
		}
	}
	if task.ImageDigest("imported") != "" {
		t.Error("the task itself was changed, which others read")
	}
}

func hosts(n int) (all []*spec.Host) {
	for i := range n {
		all = append(all, &spec.Host{ID: fmt.Sprintf("%032x", i), Attributes: map[string]string{"rack": fmt.Sprint(i % 2)}})
	}
	return all
}

func connected(string) bool { return true }

func ids(hosts []*spec.Host) (all []string) {
	for _, h := range hosts {
		all = append(all, h.ID)
	}
	return all
}

func TestHostsThatKeepAnImage(t *testing.T) {
	kept := imported("a:1")
	if got := kept.Keepers(hosts(2), connected); len(got) != 2 {
		t.Errorf("of two hosts %d keep three copies", len(got))
	}
	all := hosts(20)
	before := ids(kept.Keepers(all, connected))
	if len(before) != image.DefaultCopies {
		t.Fatal(before)
	}
	t.Run("the others stay when one is lost", func(t *testing.T) {
		after := ids(kept.Keepers(all, func(id string) bool { return id != before[0] }))
		if len(after) != len(before) || slices.Contains(after, before[0]) || !slices.Contains(after, before[1]) || !slices.Contains(after, before[2]) {
			t.Errorf("%v, then %v", before, after)
		}
	})
	t.Run("no host has more than its part", func(t *testing.T) {
		counts := map[string]int{}
		for i := range 1000 {
			one := imported("a:1")
			one.Digest = fmt.Sprintf("sha256:%064x", i)
			for _, id := range ids(one.Keepers(all, connected)) {
				counts[id]++
			}
		}
		for id, n := range counts { // 150 each on average; 6 standard deviations are 68
			if n < 80 || n > 220 {
				t.Errorf("host %s keeps %d of 1000 images", id, n)
			}
		}
	})
	t.Run("by expression", func(t *testing.T) {
		kept.Hosts = "attribute:rack == 1"
		if got := kept.Keepers(all, connected); len(got) != 10 {
			t.Errorf("%v", ids(got))
		}
		for _, refused := range []string{"rack is one", "runningTasksCount == 0"} {
			if image.CheckHosts(refused) == nil {
				t.Errorf("%q is accepted", refused)
			}
		}
	})
}
