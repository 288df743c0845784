package spec

import "testing"

func TestWhichImagesAreResolvedOnce(t *testing.T) {
	for _, c := range []struct {
		image, consistency string
		want               bool
	}{
		{"app", "", true},
		{"registry:5000/app:1", "enabled", true},
		{"app:latest", VersionConsistencyDisabled, false},
		{"app@sha256:0123", "", false}, // it names its digest
		{BuiltinImage, "", false},      // each host makes its own
		{"docker.io/pinion/self:latest", "", false},
		{"example.com/pinion/self", "", true},
	} {
		if got := (&ContainerDefinition{Image: c.image, VersionConsistency: c.consistency}).ResolvesOnce(); got != c.want {
			t.Errorf("%s, %q: %t", c.image, c.consistency, got)
		}
	}
}
