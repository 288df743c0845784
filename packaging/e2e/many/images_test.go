package many

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/packaging/testbed"
)

var (
	imageHosts = flag.Int("image-hosts", 5, "hosts of the pool that pulls images")
	imageBytes = flag.Int("image-layer", 12<<20, "bytes of each of the four layers of its images")
	imageLink  = flag.Int("image-link", 24<<20, "bytes a second that the registry gives all hosts together")
)

// layersOfImages is how many layers the images have beside their shell.
const layersOfImages = 4

// imagePool is a pool with images in a registry, by their tags; sums are the digests of their files.
type imagePool struct {
	*pool
	registry *slowRegistry
	hosts    map[string]host
	sums     map[string]string
	total    int64 // bytes of the layers of one image
}

func newImagePool(t *testing.T) *imagePool {
	p := &imagePool{pool: newPool(t, make([][]string, *imageHosts)...), sums: map[string]string{}}
	images := map[string]v1.Image{}
	for i, tag := range []string{"alone", "all", "off", "lies", "killed"} {
		images["big:"+tag], p.sums[tag], p.total = randomImage(t, byte(i), layersOfImages, *imageBytes)
	}
	p.registry = p.serveSlowImages(t, *imageLink, images)
	p.up(t)
	hosts, err := p.hostsByName(p.Hosts()[0])
	must(t, err)
	p.hosts = hosts
	return p
}

// define registers a task that ends with 0 if the files of the image are those that were pushed.
func (p *imagePool) define(t *testing.T, tag, image string) {
	t.Helper()
	script := `[ "$(cat /data-* | sha256sum | cut -c1-64)" = ` + p.sums[tag] + ` ]`
	p.mustCall(t, p.leader(t), "RegisterTaskDefinition", object{"family": "image-" + tag, "networkMode": "none",
		"containerDefinitions": []object{{"name": "main", "image": image, "memory": 64, "command": []string{"sh", "-c", script}}}}, &object{})
}

// run starts the task of an image on hosts.
func (p *imagePool) run(t *testing.T, tag string, hosts ...*testbed.Host) (started []task) {
	t.Helper()
	for _, h := range hosts {
		var answer tasks
		p.mustCall(t, p.leader(t), "StartTask", object{"taskDefinition": "image-" + tag, "containerInstances": []string{p.hosts[h.Name].ID}}, &answer)
		started = append(started, answer.Tasks...)
	}
	return started
}

// wantRight waits until tasks have ended with 0.
func (p *imagePool) wantRight(t *testing.T, started []task) {
	t.Helper()
	for _, one := range started {
		p.wait(t, p.leader(t), one.id(), "STOPPED")
		ended := p.describe(t, p.leader(t), one.id())
		if code := ended.Containers[0].ExitCode; code == nil || *code != 0 {
			t.Errorf("%v", ended)
		}
	}
}

// pullEverywhere has tasks pull an image on hosts at the same time, and returns how long it took the last of them, and how many images the
// registry gave.
func (p *imagePool) pullEverywhere(t *testing.T, tag string, hosts ...*testbed.Host) (took time.Duration, images float64) {
	t.Helper()
	before, began := p.registry.given.Load(), time.Now()
	p.wantRight(t, p.run(t, tag, hosts...))
	return time.Since(began), float64(p.registry.given.Load()-before) / float64(p.total)
}

// TestImagesComeFromTheRegistryOnce has the hosts of a pool pull images at the same time: the registry gives little more than one of
// them, whatever happens to a host or to the registry.
func TestImagesComeFromTheRegistryOnce(t *testing.T) {
	p := newImagePool(t)
	first, others := p.Hosts()[0], p.Hosts()[1:]
	for tag := range p.sums {
		p.define(t, tag, "images.test/big:"+tag)
	}

	t.Run("all hosts at once", func(t *testing.T) {
		alone, images := p.pullEverywhere(t, "alone", first)
		together, of := p.pullEverywhere(t, "all", p.Hosts()...)
		recordMetric(metric{name: fmt.Sprintf("images that the registry gives %d hosts", len(p.Hosts())), value: fmt.Sprintf("%.3f (one host: %.3f)", of, images), target: "1.1", missed: of > 1.1, samples: 1})
		recordMetric(metric{name: "pull of the last of them / of one host alone", value: fmt.Sprintf("%.2f (%v, %v)", together.Seconds()/alone.Seconds(), together.Round(time.Millisecond), alone.Round(time.Millisecond)), target: "2", missed: together > 2*alone, samples: 1})
		if of > 1.1 {
			t.Errorf("the registry gave %.2f images to %d hosts", of, len(p.Hosts()))
		}
	})
	t.Run("the registry is off after the first copy", func(t *testing.T) {
		p.pullEverywhere(t, "off", first)
		p.define(t, "off", "images.test/big@"+p.digestOf(t, "off"))
		p.registry.off.Store(true)
		defer p.registry.off.Store(false)
		p.pullEverywhere(t, "off", others...)
	})
	t.Run("a host gives wrong bytes", func(t *testing.T) {
		p.pullEverywhere(t, "lies", first)
		if spoilBlobs(t, first.Dir) == 0 {
			t.Fatal("the host has no blobs")
		}
		p.pullEverywhere(t, "lies", others...)
		named := false
		for _, h := range others {
			text, err := os.ReadFile(h.LogFile())
			must(t, err)
			named = named || strings.Contains(string(text), "wrong bytes of a blob") && strings.Contains(string(text), p.hosts[first.Name].ID)
		}
		if !named {
			t.Error("no host names the one that gave wrong bytes")
		}
	})
	t.Run("a host is killed that others read from", func(t *testing.T) {
		p.pullEverywhere(t, "killed", first)
		started := p.run(t, "killed", others...)
		must(t, first.Kill(t.Context()))
		p.wantRight(t, started)
		p.start(t, first)
	})
	t.Run("an archive and no registry", p.testWithoutARegistry)
}

// digestOf is the digest of an image, as the task that had it says.
func (p *imagePool) digestOf(t *testing.T, tag string) string {
	t.Helper()
	var listed struct {
		ARNs []string `json:"taskArns"`
	}
	p.mustCall(t, p.leader(t), "ListTasks", object{"family": "image-" + tag, "desiredStatus": "STOPPED"}, &listed)
	var described struct {
		Tasks []struct {
			Containers []struct{ ImageDigest string }
		}
	}
	p.mustCall(t, p.leader(t), "DescribeTasks", object{"tasks": listed.ARNs}, &described)
	return described.Tasks[0].Containers[0].ImageDigest
}
