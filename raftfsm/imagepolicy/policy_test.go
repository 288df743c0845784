package imagepolicy_test

import (
	"strings"
	"testing"

	"pinion/raftfsm/imagepolicy"
)

func TestAPolicyIsWrittenInFull(t *testing.T) {
	for text, ok := range map[string]bool{
		"any": true, "registry.example.com": true, "registry.example.com:5000/team": true, "docker.io/library,docker.io/vllm/vllm-openai": true, "localhost:5000": true,
		"": false, "any,docker.io": false, "library": false, "docker.io/": false, "docker.io/library/": false, ",docker.io": false, "docker.io, ghcr.io": false, "docker.io/a:1": false,
		"docker.io/A": false, "docker.io/*": false, "https://docker.io": false, "docker.io/a@sha256:" + strings.Repeat("0", 64): false, strings.Repeat("a.b,", 30) + "a.b": false,
	} {
		if err := imagepolicy.Policy(text).Check(); (err == nil) != ok {
			t.Errorf("%.80q: %v", text, err)
		}
	}
}

// A name means the same however it is written, and no name is that of another registry or repository.
func TestImagesThatAPolicyAllows(t *testing.T) {
	p := imagepolicy.Policy("docker.io/library,registry.example.com/team,localhost:5000")
	for image, allowed := range map[string]bool{
		"busybox": true, "busybox:1": true, "docker.io/library/busybox": true, "index.docker.io/library/busybox": true, "library/busybox": true,
		"busybox@sha256:" + strings.Repeat("0", 64): true, "registry.example.com/team": true, "registry.example.com/team/a/b:1": true, "localhost:5000/x": true, "pinion/self": true, "pinion/self:latest": true,
		"vllm/vllm-openai": false, "registry.example.com/teams": false, "registry.example.com/team-b/a": false, "registry.example.com.evil.org/team/a": false,
		"registry.example.com:443/team/a": false, "localhost/x": false, "evil.org/docker.io/library/busybox": false, "evil.org/pinion/self": false, "pinion/self:1": false, "pinion/self@sha256:" + strings.Repeat("0", 64): false, "": false, "UPPER": false,
	} {
		if p.Allows(image) != allowed {
			t.Errorf("%q: %t", image, !allowed)
		}
	}
	if !imagepolicy.Policy("").Allows("x/y") || !imagepolicy.Policy("any").Allows("x/y") {
		t.Error("without a policy an image is refused")
	}
}
