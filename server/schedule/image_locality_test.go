package schedule

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
)

// digest is one of an image, told by its letter.
func digest(letter string) string { return "sha256:" + strings.Repeat(letter, 64) }

// having is what a host says that has an image by these names.
func having(digest string, names ...string) *blob.Images {
	var all blob.Images
	for _, name := range names {
		all.List = append(all.List, blob.Image{Name: name, Digest: digest})
	}
	return &all
}

// withImage is a request for one task of one container with the image.
func withImage(image string, gpus int) Request {
	r := request(1, gpus)
	r.Definition.Containers[0].Image = image
	return r
}

// hostsNamed are equal hosts with two GPUs.
func hostsNamed(names ...string) *HostSet {
	f := NewHostSet()
	for _, name := range names {
		f.add(host(name, 2))
	}
	return f
}

// placeOf plans a request and takes its place back.
func placeOf(f *HostSet, r Request) string {
	d := f.Plan([]Request{r})[0]
	for _, task := range d.Tasks {
		f.DropTask(task)
	}
	return strings.Join(places(d), " ")
}

func TestAmongEqualHostsATaskGoesWhereItsImageIs(t *testing.T) {
	const repository = "registry.lab:5000/team/vllm"
	f := hostsNamed("a", "b", "c", "d")
	f.SetImages("c", having(digest("1"), repository+":1"))
	f.SetImages("d", having(digest("1"), repository+"@"+digest("1"))) // it has started a later task of a run
	for _, c := range []struct{ what, image, want string }{
		{"an image that a host has under its tag", repository + ":1", "c"},
		{"by its digest", repository + "@" + digest("1"), "c"},
		{"another tag", repository + ":2", "a"},
		{"what is no name", "Not A Name", "a"},
	} {
		for _, gpus := range []int{0, 1} {
			if place := placeOf(f, withImage(c.image, gpus)); place != c.want {
				t.Errorf("%s, %d GPUs: it goes to %s, not %s", c.what, gpus, place, c.want)
			}
		}
	}
	f.SetImages("c", nil)
	f.SetImages("b", having(digest("1"), repository+":1"))
	if place := placeOf(f, withImage(repository+":1", 1)); place != "b" {
		t.Errorf("when the image has come to another host, it goes to %s", place)
	}
	f.RemoveHost("b")
	if place := placeOf(f, withImage(repository+":1", 1)); place != "a" {
		t.Errorf("nobody is left who says what the tag means, and it goes to %s", place)
	}
}

func TestATagMeansEveryImageThatAHostHasUnderIt(t *testing.T) {
	f := hostsNamed("a", "b", "c")
	f.SetImages("b", having(digest("1"), "docker.io/library/vllm@"+digest("1")))
	f.SetImages("c", having(digest("2"), "docker.io/library/vllm:latest"))
	if place := placeOf(f, withImage("vllm", 1)); place != "c" {
		t.Errorf("it goes to %s, where another image of the repository is", place)
	}
	f.SetImages("a", having(digest("1"), "docker.io/library/vllm:latest"))
	f.SetImages("c", nil)
	r := withImage("vllm", 1)
	r.Run.Count = 2
	wantPlaces(t, f.Plan([]Request{r})[0], "a", "a") // the second GPU of a, as without images
	r.Run.Count = 1
	wantPlaces(t, f.Plan([]Request{r})[0], "b")
}

func TestRoomComesBeforeImages(t *testing.T) {
	f := NewHostSet()
	f.add(host("a", 2))
	f.add(used(host("b", 2), 1, 0))
	f.SetImages("a", having(digest("1"), "docker.io/library/vllm:latest"))
	if place := placeOf(f, withImage("vllm", 1)); place != "b" {
		t.Errorf("the whole host is opened for its image: %s", place)
	}
}

func TestATemplateLearnsOfImages(t *testing.T) {
	f := hostsNamed("a", "b")
	template := TemplateOf(withImage("vllm", 1))
	waiting := func() []*spec.Task {
		return []*spec.Task{newEvaluation(withImage("vllm", 1)).task("", &gpuGrant{gpus: make([][]string, 1)}, spec.Provisioning)}
	}
	first := f.PlanFor(template, waiting(), 0)
	wantPlaces(t, first, "a")
	f.DropTask(first.Tasks[0])
	f.SetImages("b", having(digest("1"), "docker.io/library/vllm:latest"))
	wantPlaces(t, f.PlanFor(template, waiting(), 0), "b")
}

// However images came and went, the set decides as one that is made of what the hosts have now.
func TestOnlyWhatHostsHaveNowCounts(t *testing.T) {
	names := []string{"docker.io/library/a:latest", "docker.io/library/b:latest", "docker.io/library/c@" + digest("1")}
	rapid.Check(t, func(t *rapid.T) {
		hosts := []string{"a", "b", "c", "d"}
		f, now := hostsNamed(hosts...), map[string]*blob.Images{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			id := rapid.SampledFrom(hosts).Draw(t, "host")
			said := having(digest(rapid.SampledFrom([]string{"1", "2"}).Draw(t, "digest")), rapid.SliceOfDistinct(rapid.SampledFrom(names), func(n string) string { return n }).Draw(t, "names")...)
			if rapid.Bool().Draw(t, "silent") {
				said = nil
			}
			f.SetImages(id, said)
			now[id] = said
			fresh := hostsNamed(hosts...)
			for id, images := range now {
				fresh.SetImages(id, images)
			}
			for _, image := range []string{"a", "b", "c@" + digest("1"), "c@" + digest("2")} {
				if got, want := placeOf(f, withImage(image, 1)), placeOf(fresh, withImage(image, 1)); got != want {
					t.Fatalf("a task with %s goes to %s, not %s", image, got, want)
				}
			}
		}
		for _, id := range hosts {
			f.SetImages(id, nil)
		}
		if x := f.cluster(spec.DefaultCluster).images; len(x.digests)+len(x.hostCounts) > 0 {
			t.Fatalf("what nobody has is still known: %v", x)
		}
	})
}

// BenchmarkPlanWithImages has hosts of which each has one of many images.
func BenchmarkPlanWithImages(b *testing.B) {
	const hosts, images = 500, 100
	f := NewHostSet()
	for i := range hosts {
		id := fmt.Sprintf("%04d", i)
		f.add(host(id, 8))
		f.SetImages(id, having(fmt.Sprintf("sha256:%064d", i%images), fmt.Sprintf("docker.io/library/i%d:latest", i%images)))
	}
	requests := make([]Request, images)
	for i := range requests {
		requests[i] = withImage(fmt.Sprintf("i%d", i), 1)
	}
	for i := 0; b.Loop(); i++ {
		d := f.Plan(requests[i%images : i%images+1])[0]
		f.DropTask(d.Tasks[0])
	}
}
