package images

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/platforms"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// platformsOfIndex lists the platforms of an image index.
func platformsOfIndex(raw []byte) []ocispec.Platform {
	var index ocispec.Index
	if json.Unmarshal(raw, &index) != nil {
		return nil
	}
	var found []ocispec.Platform
	for _, m := range index.Manifests {
		if m.Platform != nil && m.Platform.OS != "unknown" { // unknown marks attestations
			found = append(found, *m.Platform)
		}
	}
	return found
}

// platformOfConfig returns the platform of an image without an index.
func platformOfConfig(raw []byte) []ocispec.Platform {
	var config ocispec.Image
	if json.Unmarshal(raw, &config) != nil || config.Architecture == "" {
		return nil
	}
	return []ocispec.Platform{config.Platform}
}

// platformMismatchError is the error for an image of another platform.
type platformMismatchError struct{ platforms []ocispec.Platform }

// maxNamed bounds the platforms that an error names.
const maxNamed = 8

func (e *platformMismatchError) Error() string {
	var names []string
	for _, p := range e.platforms {
		if name := platforms.Format(p); !slices.Contains(names, name) && len(names) < maxNamed {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("the image is for %s, this host is %s", strings.Join(names, ", "), platforms.DefaultString())
}

// checkPlatform checks an image's configuration in the content store.
func checkPlatform(ctx context.Context, store content.Provider, config ocispec.Descriptor) error {
	raw, err := content.ReadBlob(ctx, store, config)
	if err != nil {
		return err
	}
	for _, p := range platformOfConfig(raw) {
		if !platforms.Default().Match(p) {
			return &platformMismatchError{platforms: []ocispec.Platform{p}}
		}
	}
	return nil
}
