package many

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"pinion/packaging/testbed"
)

// poolImage is an image as `pinion image ls -o json` shows it.
type poolImage struct {
	Name   string   `json:"name"`
	Digest string   `json:"digest"`
	Hosts  []string `json:"hosts"`
	Kept   *struct {
		Imported bool `json:"imported"`
	} `json:"kept"`
}

// images are the images of the pool.
func (p *imagePool) images(t *testing.T, h *testbed.Host) (all []poolImage) {
	t.Helper()
	out, err := p.sh(t, h, "pinion image ls -o json")
	must(t, err)
	must(t, json.Unmarshal([]byte(out), &all))
	return all
}

// image is an image of the pool by its name; nil: no host has it.
func (p *imagePool) image(t *testing.T, h *testbed.Host, named string) *poolImage {
	t.Helper()
	for _, i := range p.images(t, h) {
		if i.Name == named {
			return &i
		}
	}
	return nil
}

// testWithoutARegistry imports an archive of `docker save` at a host that is no server, while there is no registry. Every host runs the
// image, also after the host that took the archive is gone, until it is removed.
func (p *imagePool) testWithoutARegistry(t *testing.T) {
	const named = "app.test/offline:1"
	p.registry.off.Store(true)
	defer p.registry.off.Store(false)
	image, sum, _ := randomImage(t, 99, 2, *imageBytes)
	p.sums["offline"] = sum
	tag, err := name.NewTag(named)
	must(t, err)
	archive := filepath.Join(t.TempDir(), "offline.tar")
	must(t, tarball.WriteToFile(archive, tag, image))

	leader, agent := p.leader(t), p.Hosts()[len(p.Hosts())-1]
	if agent == leader {
		agent = p.Hosts()[0]
	}
	out, err := p.sh(t, agent, "pinion image import "+archive)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eventually(t, "three hosts have the image", func() bool {
		i := p.image(t, agent, named)
		return i != nil && i.Kept != nil && i.Kept.Imported && len(i.Hosts) >= 3
	})
	p.define(t, "offline", named)
	must(t, leader.Kill(t.Context()))
	var others []*testbed.Host
	for _, h := range p.Hosts() {
		if h != leader {
			others = append(others, h)
		}
	}
	p.leader(t)
	p.pullEverywhere(t, "offline", others...)
	p.start(t, leader)
	p.waitConverged(t)
	p.pullEverywhere(t, "offline", leader)

	out, err = p.sh(t, agent, "pinion image rm "+named)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eventually(t, "no host has the image", func() bool { return p.image(t, agent, named) == nil })
	started := p.run(t, "offline", agent)
	p.wait(t, agent, started[0].id(), "STOPPED")
	if ended := p.describe(t, agent, started[0].id()); ended.Containers[0].ExitCode != nil {
		t.Errorf("a task ran from an image that was removed: %v", ended)
	}
}
