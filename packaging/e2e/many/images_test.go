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
	imageHosts  = flag.Int("image-hosts", 5, "hosts of the pool that pulls images")
	imageLayers = flag.Int("image-layers", 4, "layers of each of its images, beside a shell")
	imageBytes  = flag.Int("image-layer", 12<<20, "bytes of each of these layers")
	imageLink   = flag.Int("image-link", 24<<20, "bytes a second that the registry gives all hosts together")
)

// imagePool is a pool with images in a registry, by their tags; sums are the digests of their files.
type imagePool struct {
	*pool
	registry *slowRegistry
	hosts    map[string]host
	sums     map[string]string
	digests  map[string]string
	total    int64 // bytes of the layers of one image
}

func newImagePool(t *testing.T) *imagePool {
	p := &imagePool{pool: newPool(t, make([][]string, *imageHosts)...), sums: map[string]string{}, digests: map[string]string{}}
	images := map[string]v1.Image{}
	for i, tag := range []string{"alone", "all", "off", "lies", "killed"} {
		image, sum, total := randomImage(t, byte(i), *imageLayers, *imageBytes)
		digest, err := image.Digest()
		must(t, err)
		images["big:"+tag], p.sums[tag], p.digests[tag], p.total = image, sum, digest.String(), total
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
		eventually(t, "a task starts on "+h.Name, func() bool { // which may have just come back
			answer = tasks{}
			p.mustCall(t, p.leader(t), "StartTask", object{"taskDefinition": "image-" + tag, "containerInstances": []string{p.hosts[h.Name].ID}}, &answer)
			return len(answer.Tasks) == 1
		})
		started = append(started, answer.Tasks...)
	}
	return started
}

// slowestPull is how many times longer than over the link of the registry a pull takes at most, while all hosts pull on the same machine.
const slowestPull = 10

// wantRight waits until tasks have ended with 0, and returns when the last of them had its image.
func (p *imagePool) wantRight(t *testing.T, started []task) (pulled time.Time) {
	t.Helper()
	patience := waitTimeout + time.Duration(slowestPull*p.total/int64(*imageLink))*time.Second
	for _, one := range started {
		var ended task
		eventuallyWithin(t, patience, "task "+one.id()+" has ended", func() bool {
			ended = p.describe(t, p.leader(t), one.id())
			return ended.LastStatus == "STOPPED"
		})
		if code := ended.Containers[0].ExitCode; code == nil || *code != 0 {
			t.Errorf("%v", ended)
		}
		if at := time.UnixMicro(int64(ended.PullStoppedAt * 1e6)); at.After(pulled) {
			pulled = at
		}
	}
	return pulled
}

// pullEverywhere has tasks pull an image on hosts at the same time, and returns how long it took the last of them, and how many images the
// registry gave.
func (p *imagePool) pullEverywhere(t *testing.T, tag string, hosts ...*testbed.Host) (took time.Duration, images float64) {
	t.Helper()
	before, began := p.registry.given.Load(), time.Now()
	took = p.wantRight(t, p.run(t, tag, hosts...)).Sub(began)
	images = float64(p.registry.given.Load()-before) / float64(p.total)
	t.Logf("%d hosts had the image after %v; the registry gave %.3f of it", len(hosts), took.Round(time.Millisecond), images)
	return took, images
}

// remove removes an image from all hosts: the machine has room for one of them on each.
func (p *imagePool) remove(t *testing.T, tag string) {
	t.Helper()
	eventually(t, "no host has the image "+tag, func() bool {
		left := 0
		for _, i := range p.images(t, p.leader(t)) {
			if i.Digest == p.digests[tag] {
				left++
				_, _ = p.sh(t, p.leader(t), "pinion image rm "+i.Name) // or the next time: a task may just be ending
			}
		}
		return left == 0
	})
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
		p.remove(t, "alone")
		together, of := p.pullEverywhere(t, "all", p.Hosts()...)
		p.remove(t, "all")
		what := fmt.Sprintf("%d hosts, an image of %d MB in %d layers: ", len(p.Hosts()), p.total/1e6, *imageLayers)
		recordMetric(metric{name: what + "images that the registry gives", value: fmt.Sprintf("%.3f (one host: %.3f)", of, images), target: "1.1", missed: of > 1.1, samples: 1})
		recordMetric(metric{name: what + "pull of the last of them / of one host alone", value: fmt.Sprintf("%.2f (%v, %v)", together.Seconds()/alone.Seconds(), together.Round(time.Millisecond), alone.Round(time.Millisecond)), target: "2", missed: together > 2*alone, samples: 1})
		if of > 1.1 {
			t.Errorf("the registry gave %.2f images to %d hosts", of, len(p.Hosts()))
		}
		if together > 2*alone && *enforceTargets {
			t.Errorf("the last of %d hosts had the image after %v, one host alone after %v", len(p.Hosts()), together, alone)
		}
	})
	t.Run("the registry is off after the first copy", func(t *testing.T) {
		p.pullEverywhere(t, "off", first)
		p.registry.off.Store(true)
		defer p.registry.off.Store(false)
		p.testTagWithoutRegistry(t, "off", others[0])
		p.define(t, "off", "images.test/big@"+p.digests["off"])
		p.pullEverywhere(t, "off", others...)
		p.remove(t, "off")
	})
	t.Run("a host gives wrong bytes", func(t *testing.T) {
		p.pullEverywhere(t, "lies", first)
		if spoilBlobs(t, first.Dir) == 0 {
			t.Fatal("the host has no blobs")
		}
		p.pullEverywhere(t, "lies", others...)
		p.remove(t, "lies")
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
		p.remove(t, "killed")
	})
	t.Run("an archive and no registry", p.testWithoutARegistry)
}

// testTagWithoutRegistry has a host run a tag that another one has, while the registry is off: it does if the cluster lets it, and says so.
func (p *imagePool) testTagWithoutRegistry(t *testing.T, tag string, h *testbed.Host) {
	refused := p.run(t, tag, h)[0].id()
	if ended := p.wait(t, p.leader(t), refused, "STOPPED"); !strings.Contains(ended.Reason, p.digests[tag]) || !strings.Contains(ended.Reason, "tagsWithoutRegistry") {
		t.Errorf("it does not say what would help: %v", ended)
	}
	set := func(value string) {
		p.mustCall(t, p.leader(t), "UpdateClusterSettings", object{"cluster": "default", "settings": []object{{"name": "tagsWithoutRegistry", "value": value}}}, &object{})
	}
	set("enabled")
	defer set("disabled")
	p.pullEverywhere(t, tag, h)
	text, err := os.ReadFile(h.LogFile())
	must(t, err)
	if !strings.Contains(string(text), "using what the tag meant last to another host of the cluster") {
		t.Error("its log does not say that the registry was not asked")
	}
}
